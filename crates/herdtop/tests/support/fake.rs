//! A process for end-to-end tests: a real publisher over figures that the test sets.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses a part of it, and a failure here is a failed test"
)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use herdfeed::server::{Batch, Listen, Publisher, Source};
use herdfeed::{Event, Hello, Snapshot};

/// How a snapshot looks at a time in microseconds since the start.
pub(crate) type Figures = Box<dyn Fn(u64) -> Snapshot + Send + Sync>;

pub(crate) struct Fake {
    hello: Hello,
    start: Instant,
    seq: AtomicU64,
    figures: Mutex<Figures>,
}

impl Fake {
    pub(crate) fn new(hello: Hello, figures: Figures) -> Arc<Self> {
        Arc::new(Self { hello, start: Instant::now(), seq: AtomicU64::new(0), figures: Mutex::new(figures) })
    }

    pub(crate) fn publish(self: &Arc<Self>, socket: &Path) -> Publisher {
        Publisher::start(Listen::Unix(socket.into()), Arc::clone(self) as Arc<dyn Source>).unwrap()
    }

    /// From now on the process says other figures.
    pub(crate) fn say(&self, figures: Figures) {
        *self.figures.lock().unwrap() = figures;
    }

    fn mono_us(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_micros()).unwrap()
    }
}

impl Source for Fake {
    fn hello(&self) -> Hello {
        let mut hello = self.hello.clone();
        hello.clock.mono_us = self.mono_us();
        hello
    }

    fn snapshot(&self) -> Snapshot {
        let mono_us = self.mono_us();
        let mut snapshot = (self.figures.lock().unwrap())(mono_us);
        snapshot.mono_us = mono_us;
        snapshot.seq = self.seq.fetch_add(1, Ordering::Relaxed);
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        snapshot.unix_us = u64::try_from(unix.as_micros()).unwrap();
        snapshot
    }

    fn events(&self, since: u64, _most: usize) -> Batch {
        Batch { events: Vec::<Event>::new(), lag: None, next: since }
    }
}
