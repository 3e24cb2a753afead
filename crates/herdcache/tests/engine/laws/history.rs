//! What a history is: the settings of one cache and the steps that happen to it.
//!
//! Plain data, so that a history can be printed, run again and cut down. What the
//! words do is told in `run.rs`; where histories come from, in `generate.rs`.

use std::fmt;
use std::time::Duration;

use herdcache::herdfeed::Measure;
use herdcache::{Switch, WhenUnwatched};

/// The window of the gate's fail-fast, if it has one.
pub(super) const FAIL_FAST_WINDOW: Duration = Duration::from_secs(1);

/// One cache and what happens to it.
#[derive(Clone)]
pub(super) struct History {
    pub(super) seed: u64,
    pub(super) setup: Setup,
    pub(super) steps: Vec<Step>,
}

/// The settings of the cache and of its gate.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) permits: usize,
    pub(super) queue: usize,
    pub(super) queue_timeout: Duration,
    pub(super) refresh_permits: usize,
    pub(super) fresh_for: Duration,
    pub(super) stale_for: Duration,
    pub(super) stale_if_error_for: Option<Duration>,
    pub(super) negative_ttl: Duration,
    pub(super) jitter: f64,
    pub(super) beta: f64,
    pub(super) soft_timeout: Option<Duration>,
    pub(super) origin_timeout: Duration,
    pub(super) flight_deadline: Duration,
    pub(super) cooling: (Duration, Duration),
    pub(super) max_flights: usize,
    pub(super) max_waiters: usize,
    pub(super) capacity: u64,
    /// Failures within its window that open the gate's fail-fast, if it has one.
    pub(super) fail_fast: Option<u64>,
    /// The share of a group; keys are of two groups.
    pub(super) group_share: Option<f64>,
    /// Measures that are off from the start.
    pub(super) off: Vec<Measure>,
    pub(super) when_unwatched: WhenUnwatched,
    /// The most that both stale bounds may be tuned to.
    pub(super) tunable: Option<Duration>,
    pub(super) fallback: Fallback,
}

/// For which keys the application has a degraded value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    None,
    EvenKeys,
    All,
}

impl Fallback {
    pub(super) fn covers(self, key: u64) -> bool {
        match self {
            Self::None => false,
            Self::EvenKeys => key % 2 == 0,
            Self::All => true,
        }
    }
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A caller asks and is polled once.
    Ask {
        by: By,
        key: u64,
        wait: Option<Duration>,
        load: Script,
    },
    /// A caller asks for several keys at once, and is polled once.
    AskMany {
        asks: Vec<(u64, Script)>,
        wait: Option<Duration>,
    },
    /// Time passes.
    Pass {
        time: Duration,
        polled: Polled,
    },
    /// Every task runs as far as it can, without time.
    Turn,
    /// One of the pending callers is polled, though nothing woke it.
    Poll {
        nth: usize,
    },
    /// One of the pending callers goes away.
    Cancel {
        nth: usize,
    },
    Invalidate {
        key: u64,
    },
    InvalidateMany {
        keys: Vec<u64>,
    },
    InvalidateTag {
        tag: usize,
    },
    Clear,
    MarkStale {
        key: u64,
    },
    Insert {
        key: u64,
        made: Made,
        terms: Terms,
    },
    /// The application asks for a key to be loaded anew in the background.
    Refresh {
        key: u64,
        load: Script,
    },
    /// A warm-up is spawned.
    WarmUp {
        loads: Vec<(u64, Script)>,
    },
    /// One of the warm-ups is dropped.
    Chill {
        nth: usize,
    },
    /// A look without a load.
    Peek {
        key: u64,
    },
    /// A query that bypasses the cache asks for a permit, and is polled once.
    Acquire,
    /// One of the queries that have a permit, or of those that wait for one, is over.
    Release {
        nth: usize,
        told: Told,
    },
    /// All blocking work ends.
    Unblock,
    Set {
        measure: Measure,
        to: Switch,
    },
    Tune {
        stale_for: Duration,
        stale_if_error_for: Duration,
        refresh: Switch,
    },
    Shutdown {
        limit: Duration,
    },
}

/// By which door a caller comes.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Get,
    GetWith,
}

/// When woken callers are polled while time passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// As soon as they are woken.
    Promptly,
    /// At a later step.
    Late,
}

/// What a load does, if its caller's flight gets that far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Script {
    /// `None` is ready at the first poll.
    pub(super) after: Option<Duration>,
    pub(super) end: End,
    pub(super) leave: Leave,
}

/// How a load ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Gives(Made, Terms),
    /// It says that the previous value still holds; it is only sure of that if there is one.
    Confirms(Terms, Sure),
    /// It waits for blocking work, then gives a value.
    Blocks(Terms),
    Fails,
    PanicsWhenMade,
    PanicsWhenPolled,
    Never,
}

/// Whether there is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    Value,
    Absence,
}

/// What a load that confirms does if it was given no value to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sure {
    /// It gives one.
    Gives,
    /// It confirms all the same, which is a breach of contract.
    Never,
}

/// What a query says of the origin when it gives its permit back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    Nothing,
    Answered,
    Failed,
}

/// How a value wants to be kept, and what its source says of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) fresh_for: Option<Duration>,
    pub(super) stale_for: Option<Duration>,
    pub(super) keep: Keep,
    pub(super) source_age: Duration,
    pub(super) version: Option<u64>,
    pub(super) tags: Tags,
}

impl Terms {
    /// As the cache keeps everything.
    pub(super) const PLAIN: Self = Self {
        fresh_for: None,
        stale_for: None,
        keep: Keep::Store,
        source_age: Duration::ZERO,
        version: None,
        tags: Tags::NONE,
    };
}

/// The tags of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tags {
    /// One bit for each of [`TAGS`].
    Of(u8),
    /// More than a value may have.
    TooMany,
}

/// The tags that values have and steps name.
pub(super) const TAGS: [&str; 3] = ["red", "green", "blue"];

impl Tags {
    pub(super) const NONE: Self = Self::Of(0);

    pub(super) fn has(self, tag: usize) -> bool {
        match self {
            Self::Of(bits) => bits & (1 << tag) != 0,
            Self::TooMany => true,
        }
    }

    pub(super) fn names(self) -> Vec<String> {
        let named = (0..TAGS.len()).filter(|tag| self.has(*tag)).map(|tag| TAGS[tag].to_owned());
        match self {
            Self::Of(_) => named.collect(),
            Self::TooMany => named.chain((0..65).map(|n| n.to_string())).collect(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    Store,
    DoNotStore,
}

/// What dropping the load's future does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    Quietly,
    Panics,
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}\n{:?}", self.seed, self.setup)?;
        self.steps.iter().enumerate().try_for_each(|(at, step)| writeln!(f, "{at:3}  {step:?}"))
    }
}
