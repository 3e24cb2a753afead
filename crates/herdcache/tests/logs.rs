//! Events as a log has them. The process's list of them is one: these tests take turns.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails there")]

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use herdcache::herdfeed::Measure;
use herdcache::{Cache, Gate, KeyView, Switch, Ttl};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{DefaultGuard, Interest, Subscriber};
use tracing::{Dispatch, Event, Level, Metadata};

type Line = (Level, BTreeMap<&'static str, String>);

/// Keeps lines of the target `herdcache::events`; panics instead if it is told to.
#[derive(Clone, Default)]
struct Log {
    lines: Arc<Mutex<Vec<Line>>>,
    panics: bool,
}

struct Fields<'a>(&'a mut BTreeMap<&'static str, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl Subscriber for Log {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "herdcache::events"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        assert!(event.parent().is_none() && event.is_root(), "no part of a caller's request");
        let mut fields = BTreeMap::new();
        event.record(&mut Fields(&mut fields));
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push((*event.metadata().level(), fields));
        assert!(!self.panics, "a rude subscriber");
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

impl Log {
    fn open(self) -> (Self, DefaultGuard) {
        let guard = tracing::dispatcher::set_default(&Dispatch::new(self.clone()));
        (self, guard)
    }

    fn of(&self, kind: &str) -> Vec<Line> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines
            .iter()
            .filter(|(_, fields)| fields.get("herdcache.event").is_some_and(|event| event == kind))
            .cloned()
            .collect()
    }

    /// How many of a kind were left out, of which none came later.
    fn rest(&self, kind: &str) -> u64 {
        let of = format!(r#"{{"of":"{kind}"}}"#);
        self.of("left_out").iter().filter(|(_, fields)| fields["herdcache.facts"] == of).map(left_out).sum()
    }
}

/// How many more a line says were left out before it.
fn left_out(line: &Line) -> u64 {
    line.1.get("herdcache.left_out").map_or(0, |count| count.parse().unwrap())
}

static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

type Names = Cache<String, u64, &'static str>;

fn names(name: &str, view: KeyView<String>) -> Names {
    let ttl = Ttl::fresh_for(Duration::from_secs(60));
    Cache::builder(name, ttl, &Gate::new(16)).show_keys(view).build().unwrap()
}

async fn herd(cache: &Names, key: &str, result: Result<u64, &'static str>) {
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let (cache, key) = (cache.clone(), key.to_owned());
            let load = move |_| async move {
                tokio::time::sleep(Duration::from_millis(20)).await;
                result
            };
            tokio::spawn(async move { cache.get_with(&key, load).await.is_ok() })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
}

/// K2, P3: a herd is a line with its figures; its key is what the feed shows, and no error's text is in it.
#[tokio::test(start_paused = true)]
async fn k2_p3_a_herd_is_a_line_with_its_figures() {
    let _turn = TURN.lock().await;
    let (log, _guard) = Log::default().open();
    herd(&names("hidden", KeyView::Hash), "alice@example.org", Err("hunter2")).await;
    let (started, ended) = (log.of("herd_started"), log.of("herd_ended"));
    assert_eq!((started.len(), ended.len()), (1, 1));
    let (level, fields) = &ended[0];
    assert_eq!((*level, &*fields["herdcache.name"], &*fields["message"]), (Level::INFO, "hidden", "herd_ended"));
    assert!(fields["herdcache.key"].len() == 16 && fields["herdcache.facts"].contains(r#""peak":20"#), "{fields:?}");
    assert!(!fields.contains_key("herdcache.left_out"));
    let text = format!("{:?}", log.lines.lock().unwrap());
    assert!(!text.contains("alice") && !text.contains("hunter2"), "{text}");
    herd(&names("shown", KeyView::Plain), "alice@example.org", Ok(1)).await;
    assert_eq!(log.of("herd_ended")[1].1["herdcache.key"], "alice@example.org");
}

/// L7: so many of a kind in a second, and the next line says how many were left out.
#[tokio::test(start_paused = true)]
async fn l7_lines_are_rate_limited_and_the_next_one_says_what_was_left_out() {
    let _turn = TURN.lock().await;
    let (log, _guard) = Log::default().open();
    let cache = names("many", KeyView::Hash);
    // Alike on every run: from the beginning of a second on.
    tokio::time::sleep(Duration::from_secs(2)).await;
    for key in 0..200 {
        herd(&cache, &key.to_string(), Ok(1)).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    herd(&cache, "last", Ok(1)).await;
    let lines = log.of("herd_ended");
    let all: u64 = lines.iter().map(left_out).sum::<u64>() + log.rest("herd_ended") + lines.len() as u64;
    // 200 herds of 20 ms: four seconds; and one herd more.
    assert!((17..=21).contains(&lines.len()) && all == 201, "{} lines of {all}", lines.len());
}

/// L7: what was left out is told though no more of its kind come: with the next look, and at the latest when the cache ends.
#[tokio::test(start_paused = true)]
async fn l7_what_was_left_out_is_told_when_no_more_of_its_kind_come() {
    let _turn = TURN.lock().await;
    let (log, _guard) = Log::default().open();
    let cache = names("silent", KeyView::Hash);
    tokio::time::sleep(Duration::from_secs(2)).await;
    for ended in [8, 16] {
        let before = log.of("left_out").len();
        for key in 0..8 {
            herd(&cache, &format!("{ended} {key}"), Ok(1)).await;
        }
        drop(cache.snapshot());
        assert_eq!(log.of("left_out").len(), before, "not within the second");
        if ended == 8 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(cache.snapshot());
        } else {
            cache.shutdown(Duration::from_secs(1)).await;
        }
        let lines = log.of("herd_ended");
        let said: u64 = lines.iter().map(left_out).sum::<u64>() + log.rest("herd_ended");
        assert_eq!(said + lines.len() as u64, ended);
    }
}

/// Changes of settings are told too; a subscriber that panics costs nobody anything; without one nothing waits.
#[tokio::test(start_paused = true)]
async fn s2_a_log_that_panics_costs_nobody_an_answer() {
    let _turn = TURN.lock().await;
    let cache = names("rude", KeyView::Hash);
    cache.set_measure(Measure::Stale, Switch::Off);
    let (log, _guard) = Log { panics: true, ..Log::default() }.open();
    cache.set_measure(Measure::Stale, Switch::On);
    herd(&cache, "a", Ok(1)).await;
    assert_eq!(*cache.get_with("a", |_| async { Ok(2) }).await.unwrap().unwrap(), 1);
    assert_eq!((log.of("tuned").len(), log.of("herd_ended").len()), (1, 1));
}
