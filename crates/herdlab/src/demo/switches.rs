//! Which measures are on, and which have ever been off.
//!
//! A law that a measure upholds can only be checked on a run in which that
//! measure was never off.

use herdcache::Switch;
use herdfeed::Measure;

#[derive(Clone, Debug)]
pub(super) struct Switches {
    off: Vec<Measure>,
    ever_off: Vec<Measure>,
}

impl Switches {
    pub(super) fn new(off: &[Measure]) -> Self {
        Self { off: off.to_vec(), ever_off: off.to_vec() }
    }

    pub(super) fn toggle(&mut self, measure: Measure) -> Switch {
        if let Some(at) = self.off.iter().position(|other| *other == measure) {
            self.off.remove(at);
            return Switch::On;
        }
        self.off.push(measure);
        if !self.ever_off.contains(&measure) {
            self.ever_off.push(measure);
        }
        Switch::Off
    }

    pub(super) fn state(&self, measure: Measure) -> Switch {
        if self.off.contains(&measure) { Switch::Off } else { Switch::On }
    }

    pub(super) fn ever_off(&self) -> &[Measure] {
        &self.ever_off
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measure_that_is_on_again_has_still_been_off() {
        let mut switches = Switches::new(&[Measure::Jitter]);
        assert_eq!(switches.toggle(Measure::Stale), Switch::Off);
        assert_eq!(switches.toggle(Measure::Stale), Switch::On);
        assert_eq!(switches.toggle(Measure::Jitter), Switch::On);
        assert_eq!(switches.state(Measure::Stale), Switch::On);
        assert_eq!(switches.ever_off(), [Measure::Jitter, Measure::Stale]);
    }
}
