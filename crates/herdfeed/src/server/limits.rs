//! [`Limits`]: the bounds of a publisher.

use std::time::Duration;

/// The bounds of a publisher. The defaults suit a service; tests shorten the times.
#[doc = include_str!("../../docs/examples/limits.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most open connections; the rest are turned away with 503. Default 64.
    /// More cost memory, fewer lock out readers when one of them misbehaves.
    /// A mounted feed answers as many requests at once.
    pub connections: usize,
    /// The most streams at once; the rest get 503. Default 16.
    pub subscribers: usize,
    /// The longest a connection may be idle, or take to send a request's head. Default 30 s.
    pub idle: Duration,
    /// A stream whose reader takes nothing for this long ends with `bye slow`; after twice
    /// this time its connection is cut. Default 5 s.
    pub stuck: Duration,
    /// The longest that dropping the publisher waits for readers to take their `bye`. Default 500 ms.
    pub farewell: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            subscribers: 16,
            idle: Duration::from_secs(30),
            stuck: Duration::from_secs(5),
            farewell: Duration::from_millis(500),
        }
    }
}

/// The longest request head in bytes. It also bounds what a connection buffers before it
/// asks a stream for more.
pub(super) const HEAD: usize = 8 * 1024;
/// A snapshot younger than this is shared between subscribers: under 1/20 s, the fastest cadence.
pub(super) const SHARED_FOR: Duration = Duration::from_millis(40);
/// The most events asked for at once.
pub(super) const EVENTS_AT_ONCE: usize = 256;
