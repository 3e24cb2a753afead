//! Which key is first, and when that changed.

use herdfeed::thresholds::{HOT_CHECK, HOT_OVER_OLD, HOT_SHARE, HOT_WARN_PER_SECOND, HOT_WARN_SHARE};
use herdfeed::{Fact, Severity};

use super::Hottest;
use crate::clock::{Moment, nanos};

/// Follows the first key. Two looks, 5 s apart, must agree.
#[derive(Debug, Default)]
pub(super) struct First {
    told: Option<Hottest>,
    seen: Option<Hottest>,
    looked: Moment,
    told_at: Moment,
}

impl First {
    /// Whether the next look is due.
    pub(super) fn is_due(&self, now: Moment) -> bool {
        now.saturating_sub(self.looked) >= nanos(HOT_CHECK)
    }

    /// Takes a look; gives the change, if it is one.
    pub(super) fn look(&mut self, hottest: Option<&Hottest>, now: Moment) -> Option<(Severity, Fact)> {
        self.looked = now;
        let agreed = self.seen.as_ref().map(|seen| seen.hash) == hottest.map(|hot| hot.hash);
        self.seen = hottest.cloned();
        let hot = hottest.filter(|hot| agreed && hot.share >= HOT_SHARE)?;
        if let Some(old) = &self.told {
            let recent = now.saturating_sub(self.told_at) < 2 * nanos(HOT_CHECK);
            if old.hash == hot.hash || recent || hot.share < HOT_OVER_OLD * old.share {
                // The old first key's share is kept up to date, so that a fading one can be overtaken.
                if old.hash == hot.hash {
                    self.told = Some(hot.clone());
                }
                return None;
            }
        }
        self.told = Some(hot.clone());
        self.told_at = now;
        let warn = hot.share >= HOT_WARN_SHARE && hot.per_s >= HOT_WARN_PER_SECOND;
        let severity = if warn { Severity::Warn } else { Severity::Info };
        Some((severity, Fact::HotKeyChanged { key: hot.key.clone(), share: hot.share, per_s: hot.per_s }))
    }
}
