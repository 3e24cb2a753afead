//! One stream of requests at a steady rate, with its own connections and record.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

use super::client::Client;
use super::record::Record;

/// Most requests that are due and not answered. More than that is counted as
/// unsent: the generator must not grow without bound before a shop that hangs.
const MOST_OPEN: u32 = 20_000;

/// What a request asks for, as far as the report tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The hot bundle.
    Hot,
    /// Anything else.
    Other,
}

/// One request to send.
#[derive(Debug)]
pub(crate) struct Shot {
    pub(crate) path: String,
    pub(crate) class: Class,
}

impl Shot {
    pub(crate) fn hot(path: String) -> Self {
        Self { path, class: Class::Hot }
    }

    pub(crate) fn other(path: String) -> Self {
        Self { path, class: Class::Other }
    }
}

/// A stream of requests.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    client: Arc<Client>,
    record: Arc<Mutex<Record>>,
    open: Arc<Semaphore>,
}

impl Lane {
    pub(crate) fn new(client: Arc<Client>) -> Self {
        Self { client, record: Arc::default(), open: Arc::new(Semaphore::new(MOST_OPEN as usize)) }
    }

    /// Sends `rate` requests a second, evenly spaced, for as long as `lasts`, and
    /// waits until all are answered or given up.
    pub(crate) async fn drive(&self, rate: u32, lasts: Duration, mut next: impl FnMut() -> Shot) {
        let began = Instant::now();
        for due in due_times(rate, lasts) {
            sleep_until(began + due).await;
            self.send(next(), began + due);
        }
        // All places are free again when the last request has ended. The semaphore is never closed.
        let _ = self.open.acquire_many(MOST_OPEN).await;
    }

    fn send(&self, shot: Shot, due: Instant) {
        let Ok(place) = Arc::clone(&self.open).try_acquire_owned() else {
            self.record.lock().unsent();
            return;
        };
        let open = MOST_OPEN as usize - self.open.available_permits();
        self.record.lock().sent(open as u64);
        let lane = self.clone();
        tokio::spawn(async move {
            let answer = lane.client.ask(&shot.path).await;
            lane.record.lock().ended(shot.class, due, &answer);
            drop(place);
        });
    }

    /// What was recorded.
    pub(crate) fn record(&self) -> Record {
        self.record.lock().clone()
    }
}

/// When each request is due, counted from the start.
fn due_times(rate: u32, lasts: Duration) -> impl Iterator<Item = Duration> {
    (0_u64..)
        .take_while(move |_| rate > 0)
        // Computed from the number and not added up, so that no rounding gathers.
        .map(move |number| Duration::from_secs_f64(number as f64 / f64::from(rate)))
        .take_while(move |due| *due < lasts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_exactly() {
        assert_eq!(due_times(2_000, Duration::from_secs(30)).count(), 60_000);
        assert_eq!(due_times(3, Duration::from_secs(1)).count(), 3);
        assert_eq!(due_times(0, Duration::from_secs(30)).count(), 0);
        let last = due_times(2_000, Duration::from_secs(30)).last().unwrap();
        assert_eq!(last, Duration::from_micros(29_999_500));
    }
}
