//! Cuts a failing history down to the steps that it takes.

use super::history::History;
use super::run::run;

/// A smaller history that breaks a law too, and what it breaks.
pub(super) fn shrink(history: History, broken: String) -> (History, String) {
    let (mut least, mut broken) = (history, broken);
    let mut chunk = least.steps.len();
    while chunk > 0 {
        let mut at = 0;
        while at < least.steps.len() {
            let mut smaller = least.clone();
            smaller.steps.drain(at..(at + chunk).min(least.steps.len()));
            match run(&smaller) {
                Err(still) => (least, broken) = (smaller, still),
                Ok(_) => at += chunk,
            }
        }
        chunk /= 2;
    }
    (least, broken)
}
