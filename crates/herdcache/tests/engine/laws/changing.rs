//! What the application does to keys: each change is in the record before the engine is told.

use herdcache::{Answer, Outcome, Tuning};

use super::history::{Step, TAGS};
use super::load::{Key, Row, loaded};
use super::run::Run;

fn named(key: u64) -> Key {
    Key { number: key, tag: 0 }
}

impl Run {
    pub(super) fn change(&mut self, step: &Step) -> Result<(), String> {
        match *step {
            Step::Invalidate { key } => {
                self.world.lock().invalidate(key);
                self.cache.invalidate(&named(key));
            }
            Step::InvalidateMany { ref keys } => {
                for key in keys {
                    self.world.lock().invalidate(*key);
                }
                let keys: Vec<_> = keys.iter().map(|key| named(*key)).collect();
                self.cache.invalidate_many(&keys);
            }
            Step::InvalidateTag { tag } => {
                self.world.lock().invalidate_tag(tag);
                self.cache.invalidate_tag(TAGS[tag]);
            }
            Step::Clear => {
                self.world.lock().clear();
                self.cache.clear();
            }
            Step::MarkStale { key } => self.mark_stale(key)?,
            Step::Insert { key, made, terms } => {
                let birth = self.world.lock().insert(key, made, terms);
                self.cache.insert(named(key), loaded(made, terms, Row { key, birth }));
            }
            Step::Tune { stale_for, stale_if_error_for, refresh } => {
                let tuning = Tuning::new().stale_for(stale_for).stale_if_error_for(stale_if_error_for);
                self.cache.tune(tuning.refresh(refresh)).map_err(|error| format!("A6: {error}"))?;
                // L4: from here on these are the bounds, for what is stored already too.
                self.world.lock().tune(stale_for, stale_if_error_for);
            }
            _ => return Err("no change of keys".to_owned()),
        }
        Ok(())
    }

    /// W2: what could be answered before still can, and is stale.
    fn mark_stale(&mut self, key: u64) -> Result<(), String> {
        let before = self.cache.peek(&named(key));
        self.world.lock().mark_stale(key);
        self.cache.mark_stale(&named(key));
        let after = self.cache.peek(&named(key));
        let right = match (&before, &after) {
            (None, None) => true,
            (Some(before), Some(after)) => **before == **after && Answer::outcome(after) == Outcome::Stale,
            _ => false,
        };
        if right { Ok(()) } else { Err(format!("W2: before it was marked stale {before:?}, afterwards {after:?}")) }
    }

    /// A6: a look counts nothing and starts nothing; what it shows is judged after every step.
    pub(super) fn peek(&mut self, key: u64) -> Result<(), String> {
        let count = || {
            let snapshot = self.cache.snapshot();
            (snapshot.begun, snapshot.outcomes.total(), snapshot.flight_starts.total(), snapshot.misses.total())
        };
        let before = count();
        let _ = self.cache.peek(&named(key));
        if count() == before { Ok(()) } else { Err("A6: a look was counted".to_owned()) }
    }
}
