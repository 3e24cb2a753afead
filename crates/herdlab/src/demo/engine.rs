//! The engine of the demonstration, as an application would build it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use herdcache::{Answer, Cache, ConfigError, Gate, KeyView, ReadThrough, Switch, Ttl};

use super::config::{DemoConfig, FRONT, TICKER};
use super::pages::{self, Page, Pages};
use crate::arrivals::{Arrivals, HotShare, KeyChoice, Pacing};
use crate::load::{Plan, Reply};
use crate::origin::{Model, Origin, OriginError, Pool, Sharing};

pub(super) type PageCache = ReadThrough<u64, Page, OriginError>;

/// A cache of pages, the gate before their database, and the database.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) cache: PageCache,
    pub(super) gate: Gate,
    pub(super) pages: Arc<Pages>,
}

impl Engine {
    /// Builds and fills it, with the measures in `config.off` switched off.
    pub(super) fn build(config: &DemoConfig) -> Result<Self, ConfigError> {
        let pages = Arc::new(Pages::new(config, origin(config)));
        let gate = gate(config)?;
        let cache = cache(config, &gate, &pages)?;
        pages.put_all(&cache, config.seed);
        for measure in &config.off {
            cache.set_measure(*measure, Switch::Off);
        }
        Ok(Self { cache, gate, pages })
    }

    /// What one reader does: asks for a page and notes what it was told.
    pub(super) fn reader(&self) -> impl Fn(u64) -> Reading + Send + 'static {
        let cache = self.cache.clone();
        move |key| Box::pin(ask(cache.clone(), key))
    }
}

/// A request in the making.
type Reading = Pin<Box<dyn Future<Output = Reply> + Send>>;

fn origin(config: &DemoConfig) -> Origin {
    let model = Model::Sharing(Sharing::new(config.origin_capacity));
    // A database at its largest number of connections refuses at once.
    let pool = Pool::new(config.origin_connections, Duration::ZERO);
    Origin::new(model, config.origin_work, Some(pool), config.seed)
}

fn gate(config: &DemoConfig) -> Result<Gate, ConfigError> {
    Gate::builder(config.permits)
        .name("db")
        .queue(config.queue)
        .queue_timeout(config.queue_timeout)
        .refresh_permits(config.refresh_permits)
        .build()
}

fn cache(config: &DemoConfig, gate: &Gate, pages: &Arc<Pages>) -> Result<PageCache, ConfigError> {
    let ttl =
        Ttl::fresh_for(config.fresh_for).stale_for(config.stale_for).stale_if_error_for(config.stale_if_error_for);
    let load = Arc::clone(pages);
    Cache::builder("pages", ttl, gate)
        .capacity(config.capacity)
        .jitter(config.jitter)
        .early_refresh(config.beta)
        .origin_timeout(config.origin_timeout)
        .flight_deadline(config.flight_deadline)
        .max_waiters(config.max_waiters)
        .show_keys(KeyView::With(pages::page_name))
        .build_over(move |cx| {
            let pages = Arc::clone(&load);
            async move { pages.load(cx).await }
        })
}

pub(super) fn plan(config: &DemoConfig) -> Plan {
    Plan {
        arrivals: Arrivals::new(Pacing::Poisson, config.rate_per_s, choice(config), config.seed),
        length: config.length,
        most_in_flight: config.most_in_flight,
        patience: config.flight_deadline + Duration::from_secs(1),
    }
}

pub(super) fn choice(config: &DemoConfig) -> KeyChoice {
    KeyChoice::zipf(config.pages, config.zipf)
        .with_hot(HotShare { key: TICKER, share: config.ticker_share })
        .with_hot(HotShare { key: FRONT, share: config.front_share })
}

/// One reader: asks for a page and notes what it was told.
async fn ask(cache: PageCache, key: u64) -> Reply {
    match cache.get(&key).await {
        Ok(Some(answer)) => Reply { outcome: Some(Answer::outcome(&answer)), age: Some(Answer::age(&answer)) },
        Ok(None) => Reply { outcome: None, age: None },
        Err(error) => Reply { outcome: Some(error.outcome()), age: None },
    }
}
