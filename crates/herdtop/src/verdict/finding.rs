//! [`Finding`]: one thing that is wrong or worth knowing.

use std::cmp::Reverse;

use herdfeed::Severity;
use serde::Serialize;

use crate::figures::{self, seconds};

/// What a finding is about. Among equal severities earlier kinds come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A law of the engine is broken.
    LawBroken,
    /// Many loads of one key at once.
    Stampede,
    /// The origin takes calls and ends none.
    OriginSilent,
    /// The origin answers, but connections are exhausted.
    ConnectionsExhausted,
    /// The gate refuses loads because too many fail.
    OriginDown,
    /// A large part of origin calls fails.
    OriginFailing,
    /// Callers are refused.
    Rejecting,
    /// Every permit is out and loads wait.
    Saturated,
    /// The origin is much slower than usual.
    OriginSlow,
    /// The shared tier fails, so that every process loads for itself.
    SharedDown,
    /// Callers get errors.
    Failing,
    /// A stale value comes close to its bound.
    StaleBound,
    /// The permits of all processes exceed what the origin can bear.
    Overcommitted,
    /// Many keys load at once.
    Avalanche,
    /// Entries are removed to make room too fast.
    EvictionSurge,
    /// Many requests wait for one load.
    Herd,
    /// Two live caches have one name.
    DuplicateName,
    /// Countermeasures are switched off.
    ProtectionOff,
    /// A lease is configured but cannot be reached.
    ProtectionDegraded,
    /// A process is gone without a goodbye.
    Died,
    /// A process cannot be reached.
    Unreachable,
    /// A process can be reached and says nothing.
    Silent,
    /// The cache is young and empty.
    ColdStart,
    /// Keys are loaded before they are asked for.
    WarmingUp,
    /// Settings differ from those that the cache was built with.
    Tuned,
    /// A process is gone without a goodbye, and another of its service has taken its place.
    Replaced,
    /// A process has started anew.
    Restarted,
    /// Many requests waited for one load that has landed.
    HerdPassed,
    /// A process ended in good order.
    Ended,
}

impl Kind {
    /// Whether the origin itself is what is wrong: other findings are mostly what comes of that.
    pub fn is_of_origin(self) -> bool {
        matches!(
            self,
            Self::OriginSilent | Self::ConnectionsExhausted | Self::OriginDown | Self::OriginFailing | Self::OriginSlow
        )
    }

    /// The word on screen.
    pub fn word(self) -> &'static str {
        match self {
            Self::LawBroken => "LAW BROKEN",
            Self::Stampede => "STAMPEDE",
            Self::OriginSilent => "ORIGIN SILENT",
            Self::ConnectionsExhausted => "CONNECTIONS EXHAUSTED",
            Self::OriginDown => "ORIGIN DOWN",
            Self::OriginFailing => "ORIGIN FAILING",
            Self::Rejecting => "REJECTING",
            Self::Saturated => "PERMITS FULL",
            Self::OriginSlow => "ORIGIN SLOW",
            Self::SharedDown => "SHARED TIER DOWN",
            Self::Failing => "FAILING",
            Self::StaleBound => "STALE COVER",
            Self::Overcommitted => "TOO MANY PERMITS",
            Self::Avalanche => "AVALANCHE",
            Self::EvictionSurge => "EVICTIONS",
            Self::Herd => "HERD",
            Self::DuplicateName => "DUPLICATE CACHE",
            Self::ProtectionOff => "PROTECTION OFF",
            Self::ProtectionDegraded => "PROTECTION DEGRADED",
            Self::Unreachable => "UNREACHABLE",
            Self::ColdStart => "COLD START",
            Self::WarmingUp => "WARMING UP",
            Self::Tuned => "TUNED",
            Self::Silent => "SILENT",
            Self::Replaced => "REPLACED",
            Self::Restarted => "RESTARTED",
            Self::HerdPassed => "HERD PASSED",
            Self::Ended => "ENDED",
            Self::Died => "PROCESS DIED",
        }
    }
}

/// Whether a finding is about now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It holds.
    Holds,
    /// What it counts stands still, though its condition has not been ended yet.
    Over,
}

/// One thing that is wrong or worth knowing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// How much it asks of an operator.
    pub severity: Severity,
    /// Whether it is about now.
    pub standing: Standing,
    /// What it is about.
    pub kind: Kind,
    /// The cache, key, gate or process.
    pub subject: String,
    /// The figures.
    pub what: String,
    /// Since when, wall time in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_unix_us: Option<u64>,
    /// The reason.
    pub why: String,
    /// What to do.
    pub cure: String,
    /// The processes it was seen in.
    pub targets: Vec<String>,
    /// How much there is of it; only to choose among equal findings of several processes.
    #[serde(skip)]
    pub weight: u64,
}

impl Finding {
    /// A finding in one process.
    pub fn new(kind: Kind, severity: Severity, subject: impl Into<String>, target: &str) -> Self {
        Self {
            severity,
            standing: Standing::Holds,
            kind,
            subject: subject.into(),
            what: String::new(),
            since_unix_us: None,
            why: String::new(),
            cure: String::new(),
            targets: vec![target.to_owned()],
            weight: 0,
        }
    }

    /// With figures, and how much there is of it.
    #[must_use]
    pub fn what(mut self, what: impl Into<String>, weight: u64) -> Self {
        self.what = what.into();
        self.weight = weight;
        self
    }

    /// With its start, wall time.
    #[must_use]
    pub fn since(mut self, unix_us: u64) -> Self {
        self.since_unix_us = (unix_us > 0).then_some(unix_us);
        self
    }

    /// Over: the figures are those of before, the last of them so long ago if that was seen. It is no longer worth
    /// an alarm, so that what holds now comes first.
    #[must_use]
    pub fn over(mut self, ago_us: Option<u64>) -> Self {
        self.what = match ago_us {
            Some(ago) => format!("{} until {} ago", self.what, seconds(ago.max(1_000_000))),
            None => format!("{} before, not now", self.what),
        };
        self.eased()
    }

    /// Over, with figures that say so themselves. What heals by itself needs no cure any more; a setting that let it
    /// happen does.
    #[must_use]
    pub fn eased(mut self) -> Self {
        self.standing = Standing::Over;
        self.severity = Severity::Info;
        let heals = self.kind.is_of_origin() && self.kind != Kind::ConnectionsExhausted;
        if heals || matches!(self.kind, Kind::Failing | Kind::StaleBound) {
            self.cure.clear();
        }
        self
    }

    /// Whether it asks nothing of an operator: worth knowing, and no trouble.
    pub fn is_hint(&self) -> bool {
        self.severity == Severity::Info
    }

    /// The word before what to do about it.
    pub fn advice(&self) -> &'static str {
        if self.is_hint() { "hint" } else { "cure" }
    }

    /// With its reason.
    #[must_use]
    pub fn why(mut self, why: impl Into<String>) -> Self {
        self.why = why.into();
        self
    }

    /// With its cure.
    #[must_use]
    pub fn cure(mut self, cure: impl Into<String>) -> Self {
        self.cure = cure.into();
        self
    }

    /// Most severe first, then what holds, then by kind.
    pub(super) fn rank(&self) -> (Reverse<Severity>, Standing, Kind, u64) {
        (Reverse(self.severity), self.standing, self.kind, self.since_unix_us.unwrap_or(u64::MAX))
    }

    /// Since when it is, or when it happened, in words; empty where that says nothing: what is over tells its end; a
    /// herd that has passed and an origin that does not answer tell their length themselves.
    pub fn time(&self, now_unix_us: u64) -> String {
        let Some(start) = self.since_unix_us.filter(|_| self.standing == Standing::Holds) else {
            return String::new();
        };
        match self.kind {
            Kind::HerdPassed | Kind::OriginSilent => String::new(),
            Kind::Died | Kind::Replaced | Kind::Restarted | Kind::Ended => figures::ago(start, now_unix_us),
            Kind::LawBroken
            | Kind::Stampede
            | Kind::ConnectionsExhausted
            | Kind::OriginDown
            | Kind::OriginFailing
            | Kind::Rejecting
            | Kind::Saturated
            | Kind::OriginSlow
            | Kind::SharedDown
            | Kind::Failing
            | Kind::StaleBound
            | Kind::Overcommitted
            | Kind::Avalanche
            | Kind::EvictionSurge
            | Kind::Herd
            | Kind::DuplicateName
            | Kind::ProtectionOff
            | Kind::ProtectionDegraded
            | Kind::Unreachable
            | Kind::Silent
            | Kind::ColdStart
            | Kind::WarmingUp
            | Kind::Tuned => figures::since(start, now_unix_us),
        }
    }

    /// Whether both are about the same thing.
    pub fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.subject == other.subject
    }

    /// Takes in what another process says about the same thing.
    pub(super) fn absorb(&mut self, other: Self) {
        // Where it is over says nothing about where it holds.
        match (self.standing, other.standing) {
            (Standing::Holds, Standing::Over) => return,
            (Standing::Over, Standing::Holds) => return *self = other,
            (Standing::Holds, Standing::Holds) | (Standing::Over, Standing::Over) => {}
        }
        let since = match (self.since_unix_us, other.since_unix_us) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        let mut targets = std::mem::take(&mut self.targets);
        for name in &other.targets {
            if !targets.contains(name) {
                targets.push(name.clone());
            }
        }
        if (other.severity, other.weight) > (self.severity, self.weight) {
            *self = other;
        }
        self.since_unix_us = since;
        self.targets = targets;
    }
}
