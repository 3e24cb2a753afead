//! What a scene shows: what callers got, when; what the database met; what the account told meanwhile.

use std::collections::BTreeMap;
use std::time::Duration;

use herdcache::herdfeed::Outcome;
use herdcache::{Answer, Got, ReadThrough};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::origin::{Call, Db, DbError};

pub(crate) type Rows = ReadThrough<u64, u64, DbError>;

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// What a fallback gives in its place.
pub(crate) const DEGRADED: u64 = 1_000_000;

/// What one caller got.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) took: Duration,
    pub(crate) end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// A row that had changed so often since it was read.
    Row {
        outcome: Outcome,
        age: Duration,
        behind: u64,
    },
    Degraded,
    Absent,
    /// An error, as HTTP has it; whether it names a time to come back.
    Refused {
        status: u16,
        with_time: bool,
    },
    /// The caller was not there any more.
    Gone,
}

impl Told {
    pub(crate) fn of(got: &Got<u64, DbError>, took: Duration, db: &Db) -> Self {
        let end = match got {
            Ok(Some(answer)) if Answer::outcome(answer) == Outcome::Fallback => {
                assert_eq!(**answer, DEGRADED);
                End::Degraded
            }
            Ok(Some(answer)) => {
                let behind = db.row() - **answer;
                End::Row { outcome: Answer::outcome(answer), age: Answer::age(answer), behind }
            }
            Ok(None) => End::Absent,
            Err(error) => {
                let status = error.kind().http_status();
                End::Refused { status, with_time: error.retry_after_seconds().is_some() }
            }
        };
        Self { took, end }
    }

    /// A caller that left before there was an answer.
    pub(crate) fn gone(took: Duration) -> Self {
        Self { took, end: End::Gone }
    }
}

/// A read, and what it gets.
pub(crate) async fn read(rows: &Rows, db: &Db, key: u64) -> Told {
    let began = Instant::now();
    let got = rows.get(&key).await;
    Told::of(&got, began.elapsed(), db)
}

/// The same in a task of its own.
pub(crate) fn ask(rows: &Rows, db: &Db, key: u64) -> JoinHandle<Told> {
    let (rows, db) = (rows.clone(), db.clone());
    tokio::spawn(async move { read(&rows, &db, key).await })
}

/// So many callers of these keys at once.
pub(crate) async fn herd(rows: &Rows, db: &Db, keys: impl IntoIterator<Item = u64>) -> Vec<Told> {
    let callers: Vec<_> = keys.into_iter().map(|key| ask(rows, db, key)).collect();
    all(callers).await
}

pub(crate) async fn all(callers: Vec<JoinHandle<Told>>) -> Vec<Told> {
    let mut told = Vec::new();
    for caller in callers {
        told.push(caller.await.expect("no caller panics"));
    }
    told
}

/// Everything that one scene shows.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Callers by the words that the table has for them; "" for those who need none.
    pub(crate) callers: BTreeMap<&'static str, Vec<Told>>,
    /// Spans by the words that the table has for them.
    pub(crate) spans: BTreeMap<&'static str, Duration>,
    pub(crate) permits: u64,
    pub(crate) refresh_permits: u64,
    pub(crate) warm_up_permits: u64,
    pub(crate) processes: u64,
    pub(crate) calls: Vec<Call>,
    pub(crate) running: u64,
    pub(crate) given_up: u64,
    /// The account at some moments.
    pub(crate) accounts: Vec<Value>,
}

impl Seen {
    pub(crate) fn told(&mut self, who: &'static str, told: impl IntoIterator<Item = Told>) {
        self.callers.entry(who).or_default().extend(told);
    }

    pub(crate) fn span(&mut self, words: &'static str, span: Duration) {
        self.spans.insert(words, span);
    }

    /// Looks at the account, now.
    pub(crate) fn look(&mut self, rows: &Rows) {
        let (cache, gate) = (rows.snapshot(), rows.gate().snapshot());
        assert_eq!((cache.law_violations, gate.law_violations), (0, 0));
        self.permits = gate.limit;
        let mut account = json!(cache);
        account["gates"] = json!(gate);
        self.accounts.push(account);
    }

    /// Looks at the account and at the database: the scene is over.
    pub(crate) fn end(mut self, rows: &Rows, db: &Db) -> Self {
        self.look(rows);
        (self.calls, self.running, self.given_up) = (db.calls(), db.running(), db.given_up());
        self
    }

    /// Whether this counter was ever anything but what it is when nothing has happened.
    pub(crate) fn moved(&self, counter: &str) -> bool {
        let place = format!("/{}", counter.replace('.', "/"));
        let idle = [json!(null), json!(0), json!("closed")];
        self.accounts.iter().filter_map(|account| account.pointer(&place)).any(|value| !idle.contains(value))
    }

    /// The most calls at once.
    pub(crate) fn peak(&self) -> u64 {
        self.calls.iter().map(|call| call.at_once).max().unwrap_or(0)
    }

    /// How often each key was asked for.
    pub(crate) fn by_key(&self) -> BTreeMap<u64, Vec<Instant>> {
        let mut keys = BTreeMap::<_, Vec<_>>::new();
        for call in &self.calls {
            keys.entry(call.key).or_default().push(call.at);
        }
        keys
    }
}
