//! The span of one caller's wait for a traced flight, in the caller's own trace.

use std::time::Duration;

use herdfeed::{ClosedSet, FlightRole};
use tracing::{field::Empty, info_span};

use super::lit::{Lit, Quiet};
use super::log::Log;
use crate::trace::facts::Left;

/// A wait in progress, if it has a span.
#[derive(Default)]
pub(crate) struct Waiting(Option<Wait>);

struct Wait {
    span: Quiet,
    link: Link,
}

/// Whether the wait's span has its link to that of the flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Made,
    /// The flight had been promised a span, and did not have it yet.
    Owed,
}

impl Waiting {
    #[inline]
    pub(crate) fn is_told(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn has_span(&self) -> bool {
        self.0.as_ref().is_some_and(|wait| wait.span.is_told())
    }

    /// Begins now, as a child of what is current here.
    pub(super) fn told(role: FlightRole, lit: Option<&Lit>) -> Self {
        let make = || {
            let role = role.label();
            info_span!(target: "herdcache", "herdcache.wait", herdcache.flight.role = role, herdcache.left_early = Empty)
        };
        let link = if lit.is_some() { Link::Made } else { Link::Owed };
        let Some(span) = Quiet::of(make) else {
            // Nobody wants it, but the promise is still to be settled.
            return Self((link == Link::Owed).then(|| Wait { span: Quiet::none(), link }));
        };
        if let Some(lit) = lit {
            span.follows(lit);
        }
        Self(Some(Wait { span, link }))
    }

    /// The wait is over.
    #[inline]
    pub(crate) fn ends(self, log: &Log, (role, left): (FlightRole, Left), waited: impl FnOnce() -> Duration) {
        if let Some(wait) = self.0 {
            wait.ends(log, left);
        } else if left == Left::Landed && log.is_herd() {
            log.waited(role, waited());
        }
    }
}

impl Wait {
    #[cold]
    fn ends(&self, log: &Log, left: Left) {
        if self.link == Link::Owed {
            if let Some(lit) = log.settle() {
                self.span.follows(&lit);
            }
        }
        if left == Left::Early {
            self.span.record("herdcache.left_early", true);
        }
        self.span.ends();
    }
}
