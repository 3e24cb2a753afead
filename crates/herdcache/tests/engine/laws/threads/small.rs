//! A history in a tenth of its time: on a real clock nobody wants to wait for seconds.

use std::time::Duration;

use crate::laws::history::{End, History, Script, Setup, Step, Terms};
use crate::support::ms;

/// Longer pauses would only let everything come to rest.
const PAUSE: Duration = ms(4);

fn tenth(time: Duration) -> Duration {
    time / 10
}

pub(super) fn smaller(history: &History) -> History {
    let steps = history.steps.iter().filter_map(step).collect();
    History { seed: history.seed, setup: setup(&history.setup), steps }
}

/// Cooling keeps its length, whose least is what histories have.
fn setup(setup: &Setup) -> Setup {
    Setup {
        queue_timeout: tenth(setup.queue_timeout),
        fresh_for: tenth(setup.fresh_for),
        stale_for: tenth(setup.stale_for),
        stale_if_error_for: setup.stale_if_error_for.map(tenth),
        negative_ttl: tenth(setup.negative_ttl),
        soft_timeout: setup.soft_timeout.map(tenth),
        origin_timeout: tenth(setup.origin_timeout),
        flight_deadline: tenth(setup.flight_deadline),
        tunable: setup.tunable.map(tenth),
        ..setup.clone()
    }
}

/// `None` where the record could not tell what the engine knew: which measures were on when a request began.
fn step(step: &Step) -> Option<Step> {
    let step = match step.clone() {
        Step::Set { .. } => return None,
        Step::Ask { by, key, wait, load } => Step::Ask { by, key, wait: wait.map(tenth), load: script(load) },
        Step::AskMany { asks, wait } => Step::AskMany { asks: scripts(asks), wait: wait.map(tenth) },
        Step::Pass { time, polled } => Step::Pass { time: tenth(time).min(PAUSE), polled },
        Step::Insert { key, made, terms: own } => Step::Insert { key, made, terms: terms(own) },
        Step::Tune { stale_for, stale_if_error_for, refresh } => {
            let (stale_for, stale_if_error_for) = (tenth(stale_for), tenth(stale_if_error_for));
            Step::Tune { stale_for, stale_if_error_for, refresh }
        }
        Step::Shutdown { limit } => Step::Shutdown { limit: tenth(limit) },
        Step::Refresh { key, load } => Step::Refresh { key, load: script(load) },
        Step::WarmUp { loads } => Step::WarmUp { loads: scripts(loads) },
        as_it_is => as_it_is,
    };
    Some(step)
}

fn scripts(loads: Vec<(u64, Script)>) -> Vec<(u64, Script)> {
    loads.into_iter().map(|(key, load)| (key, script(load))).collect()
}

fn script(script: Script) -> Script {
    let end = match script.end {
        End::Gives(made, own) => End::Gives(made, terms(own)),
        End::Confirms(own, sure) => End::Confirms(terms(own), sure),
        End::Blocks(own) => End::Blocks(terms(own)),
        other => other,
    };
    Script { after: script.after.map(tenth), end, ..script }
}

fn terms(terms: Terms) -> Terms {
    Terms {
        fresh_for: terms.fresh_for.map(tenth),
        stale_for: terms.stale_for.map(tenth),
        source_age: tenth(terms.source_age),
        ..terms
    }
}
