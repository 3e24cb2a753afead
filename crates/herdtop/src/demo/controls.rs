//! The demonstration's own keys: capitals, so that no row is moved by accident.

use herdfeed::Measure;
use herdlab::demo::{Demo, Switch};

use crate::controls::{ControlBinding, ControlState, Controls};

/// What one key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hand {
    Measure(Measure),
    ExpireHot,
    ExpireAll,
    SlowOrigin,
    FailOrigin,
}

/// Every key, in the order of the bar.
const HANDS: [(char, Hand); 9] = [
    ('F', Hand::Measure(Measure::SingleFlight)),
    ('P', Hand::Measure(Measure::Permits)),
    ('T', Hand::Measure(Measure::Stale)),
    ('E', Hand::Measure(Measure::Early)),
    ('J', Hand::Measure(Measure::Jitter)),
    ('H', Hand::ExpireHot),
    ('A', Hand::ExpireAll),
    ('L', Hand::SlowOrigin),
    ('B', Hand::FailOrigin),
];

impl Hand {
    fn label(self) -> &'static str {
        match self {
            Self::Measure(Measure::SingleFlight) => "single-flight",
            Self::Measure(Measure::Permits) => "permits",
            Self::Measure(Measure::Stale) => "stale",
            Self::Measure(Measure::Early) => "early",
            Self::Measure(Measure::Jitter) => "jitter",
            Self::ExpireHot => "expire hot key",
            Self::ExpireAll => "expire all",
            Self::SlowOrigin => "slow origin",
            Self::FailOrigin => "fail origin",
        }
    }

    fn state(self, demo: &Demo) -> ControlState {
        let switch = match self {
            Self::Measure(measure) => demo.measure(measure),
            Self::ExpireHot | Self::ExpireAll => return ControlState::Action,
            Self::SlowOrigin => demo.slow(),
            Self::FailOrigin => demo.failing(),
        };
        match switch {
            Switch::On => ControlState::On,
            Switch::Off => ControlState::Off,
        }
    }

    fn act(self, demo: &Demo) {
        match self {
            Self::Measure(measure) => {
                demo.toggle(measure);
            }
            Self::ExpireHot => demo.expire_hot(),
            Self::ExpireAll => demo.expire_all(),
            Self::SlowOrigin => {
                demo.slow_origin();
            }
            Self::FailOrigin => {
                demo.fail_origin();
            }
        }
    }
}

/// What to press first, for somebody who has just opened it.
pub(super) const MELT: &str = "press F P T E: within five seconds it melts; the same keys heal it";

/// Hands the keys to a running demonstration.
pub(super) struct DemoControls {
    pub(super) demo: Demo,
}

impl Controls for DemoControls {
    fn bindings(&self) -> Vec<ControlBinding> {
        HANDS
            .iter()
            .map(|(key, hand)| ControlBinding { key: *key, label: hand.label().into(), state: hand.state(&self.demo) })
            .collect()
    }

    fn press(&mut self, key: char) {
        if let Some((_, hand)) = HANDS.iter().find(|(character, _)| *character == key) {
            hand.act(&self.demo);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keymap;
    use herdlab::demo::DemoConfig;

    #[test]
    fn no_key_is_taken_by_the_screen_and_none_twice() {
        for (at, (key, _)) in HANDS.iter().enumerate() {
            assert!(!keymap::taken(*key), "{key}");
            assert!(HANDS[..at].iter().all(|(other, _)| other != key), "{key}");
        }
    }

    #[test]
    fn a_press_switches_over_and_back() {
        let config = DemoConfig { rate_per_s: 1.0, ..DemoConfig::default() };
        let mut controls = DemoControls { demo: Demo::start(config).unwrap() };
        let state = |controls: &DemoControls, key| {
            controls.bindings().into_iter().find(|binding| binding.key == key).unwrap().state
        };
        for (key, first, then) in [
            ('F', ControlState::On, ControlState::Off),
            ('P', ControlState::On, ControlState::Off),
            ('L', ControlState::Off, ControlState::On),
            ('B', ControlState::Off, ControlState::On),
            ('H', ControlState::Action, ControlState::Action),
            ('A', ControlState::Action, ControlState::Action),
        ] {
            assert_eq!(state(&controls, key), first, "{key}");
            controls.press(key);
            assert_eq!(state(&controls, key), then, "{key}");
            controls.press(key);
            assert_eq!(state(&controls, key), first, "{key}");
        }
    }
}
