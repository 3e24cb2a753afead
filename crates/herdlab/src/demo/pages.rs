//! The pages of the demonstration and the database that they come from.
//!
//! The origin counts its calls by itself; here it is only joined to the
//! engine's loader, and the hot key's expiries are counted in the same place.

use std::time::Duration;

use herdcache::{LoadContext, Loaded};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::config::{DemoConfig, FRONT, TICKER};

use super::engine::PageCache;
use crate::origin::{Expiries, Origin, OriginError};

/// One page's bytes.
pub(super) type Page = Box<[u8]>;

/// How the dashboard shows a key. Page numbers are no secrets here.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the engine shows keys by reference")]
pub(super) fn page_name(key: &u64) -> String {
    match *key {
        TICKER => "ticker".into(),
        FRONT => "front page".into(),
        number => format!("page {number}"),
    }
}

/// The pages, over the origin that they are loaded from.
#[derive(Debug)]
pub(super) struct Pages {
    origin: Origin,
    /// Number of pages beside the two hot ones.
    others: u64,
    ticker_fresh_for: Duration,
    front_fresh_for: Duration,
    fresh_for: Duration,
    value_bytes: usize,
    expiries: Mutex<Expiries>,
}

impl Pages {
    pub(super) fn new(config: &DemoConfig, origin: Origin) -> Self {
        let expiries = Expiries::new(config.ticker_fresh_for, config.jitter, Some(Instant::now()));
        Self {
            origin,
            others: config.pages,
            ticker_fresh_for: config.ticker_fresh_for,
            front_fresh_for: config.front_fresh_for,
            fresh_for: config.fresh_for,
            value_bytes: config.value_bytes,
            expiries: Mutex::new(expiries),
        }
    }

    /// Fills the cache as if it had run for a while: every page of another age.
    ///
    /// An empty cache would show a cold start first, which is another lesson.
    pub(super) fn put_all(&self, cache: &PageCache, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        for key in 0..self.others {
            let left = self.fresh_for.mul_f64(0.02 + 0.98 * random.f64());
            cache.insert(key, Loaded::value(self.page()).fresh_for(left));
        }
        for key in [TICKER, FRONT] {
            cache.insert(key, self.loaded(key));
        }
    }

    /// Loads one page from the origin, for the engine.
    pub(super) async fn load(&self, cx: LoadContext<u64, Page>) -> Result<Loaded<Page>, OriginError> {
        let key = *cx.key();
        if key == TICKER {
            self.expiries.lock().load_started(Instant::now(), cx.trigger());
        }
        let served = self.origin.call(key).await;
        match served {
            Ok(served) => served.connection_wait,
            Err(OriginError::NoConnection { waited }) => Some(waited),
            Err(OriginError::Failing | OriginError::Stopped) => None,
        }
        .into_iter()
        .for_each(|wait| cx.connection_wait(wait));
        served?;
        if key == TICKER {
            self.expiries.lock().load_answered(Instant::now());
        }
        Ok(self.loaded(key))
    }

    pub(super) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(super) fn expiries(&self) -> u64 {
        self.expiries.lock().count()
    }

    pub(super) fn hot_expired_by_hand(&self) {
        self.expiries.lock().expired_by_hand();
    }

    /// The key's value with the bounds that are its own.
    fn loaded(&self, key: u64) -> Loaded<Page> {
        let page = Loaded::value(self.page());
        match key {
            TICKER => page.fresh_for(self.ticker_fresh_for).stale_for(Duration::ZERO),
            FRONT => page.fresh_for(self.front_fresh_for),
            _ => page,
        }
    }

    fn page(&self) -> Page {
        vec![0; self.value_bytes].into_boxed_slice()
    }
}
