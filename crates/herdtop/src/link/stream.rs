//! One link: attach, read, and attach again.

use std::time::Duration;

use herdfeed::client::{AttachError, Lines, StreamOptions, attach};
use herdfeed::line::Assembler;
use herdfeed::{Address, Line};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::backoff::Backoff;
use super::{Common, HZ};
use crate::clock;
use crate::msg::{Farewell, Feed, TargetId};

/// Time between two looks at how many lines could not be read.
const COUNT_EVERY: Duration = Duration::from_millis(500);

/// Why a stream ended.
pub(super) enum Ended {
    /// It could not be opened.
    NotOpened(AttachError),
    /// It was open; now it is not.
    Broken(String),
    /// The process ended it and said why.
    Goodbye(String),
}

impl Ended {
    fn why(&self) -> String {
        match self {
            Self::NotOpened(error) => super::reason(error),
            Self::Broken(why) => why.clone(),
            Self::Goodbye(why) => format!("the process ended the stream: {why}"),
        }
    }

    /// What the end of a stream says of its process, should that turn out to be gone.
    fn farewell(&self) -> Farewell {
        match self {
            Self::Goodbye(_) => Farewell::Said,
            Self::NotOpened(_) | Self::Broken(_) => Farewell::Unsaid,
        }
    }

    /// Whether nobody is behind the address any more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::NotOpened(AttachError::Refused { .. } | AttachError::NotFound { .. }))
    }
}

/// Runs a link and says so on screen when it panics: a dead link must not look like a silent process.
async fn supervised(common: Common, target: TargetId, link: impl Future<Output = ()> + Send + 'static) {
    // A join set aborts what it holds when it is dropped: the link ends with its supervisor.
    let mut one = JoinSet::new();
    one.spawn(link);
    if let Some(Err(error)) = one.join_next().await
        && error.is_panic()
    {
        let why = "herdtop's own link has failed: start herdtop anew and report it".to_owned();
        common.mailbox.put(target, Feed::Down { why, retry_at_us: u64::MAX });
    }
}

/// Watches a process that the operator named: for ever.
pub(super) async fn watched(common: Common, address: Address, target: TargetId) {
    supervised(common.clone(), target, for_ever(common, address, target)).await;
}

async fn for_ever(common: Common, address: Address, target: TargetId) {
    let mut backoff = Backoff::default();
    loop {
        let ended = once(&common, &address, target, &mut backoff).await;
        pause(&common, target, &ended, &mut backoff).await;
    }
}

/// Watches a process that was found, until nobody is behind its socket any more.
pub(super) async fn found(common: Common, address: Address, name: String) {
    let options = options(&common);
    // A socket whose process has died is not worth a row on the screen.
    let first = match attach(&address, &options).await {
        Err(AttachError::Refused { .. } | AttachError::NotFound { .. }) => return,
        first => first,
    };
    let target = common.announce(&address, &name);
    supervised(common.clone(), target, until_gone(common, address, target, first)).await;
}

async fn until_gone(common: Common, address: Address, target: TargetId, first: Result<Lines, AttachError>) {
    let mut backoff = Backoff::default();
    let mut ended = match first {
        Ok(lines) => {
            let opened = Instant::now();
            let ended = read(&common, target, lines).await;
            backoff.connected_for(opened.elapsed());
            ended
        }
        Err(error) => Ended::NotOpened(error),
    };
    let mut farewell = Farewell::Unsaid;
    while !ended.is_gone() {
        farewell = ended.farewell();
        pause(&common, target, &ended, &mut backoff).await;
        ended = once(&common, &address, target, &mut backoff).await;
    }
    common.mailbox.put(target, Feed::Gone(farewell));
}

fn options(common: &Common) -> StreamOptions {
    StreamOptions { hz: HZ, token: common.token.clone(), ..StreamOptions::default() }
}

async fn once(common: &Common, address: &Address, target: TargetId, backoff: &mut Backoff) -> Ended {
    common.mailbox.put(target, Feed::Connecting);
    match attach(address, &options(common)).await {
        Err(error) => Ended::NotOpened(error),
        Ok(lines) => {
            let opened = Instant::now();
            let ended = read(common, target, lines).await;
            backoff.connected_for(opened.elapsed());
            ended
        }
    }
}

/// Says when the next try is and waits for it, or for the operator's wish.
async fn pause(common: &Common, target: TargetId, ended: &Ended, backoff: &mut Backoff) {
    let wait = backoff.next(fastrand::f64());
    let retry_at_us = clock::read().mono_us.saturating_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
    let why = ended.why();
    common.mailbox.put(target, Feed::Down { why, retry_at_us });
    let mut retry = common.retry.clone();
    retry.mark_unchanged();
    tokio::select! {
        () = sleep(wait) => {}
        // The sender lives as long as the screen; without it the task is aborted anyway.
        _ = retry.changed() => {}
    }
}

async fn read(common: &Common, target: TargetId, mut lines: Lines) -> Ended {
    let mut parts = Assembler::default();
    let mut bad_lines = 0;
    loop {
        // A stream of which no line can be read gives none: what was skipped is asked for now and then.
        let next = timeout(COUNT_EVERY, lines.next()).await;
        if lines.bad_lines() != bad_lines {
            bad_lines = lines.bad_lines();
            common.mailbox.put(target, Feed::BadLines(bad_lines));
        }
        let line = match next {
            Err(_elapsed) => continue,
            Ok(Ok(Some(line))) => line,
            Ok(Ok(None)) => return Ended::Broken("the process closed the stream".into()),
            Ok(Err(error)) => return Ended::Broken(super::broken(&error)),
        };
        let feed = match line {
            Line::Hello(hello) => Feed::Hello(hello),
            Line::Past(past) => Feed::Past(past),
            Line::Snap { part, snapshot } => match parts.take(part, *snapshot) {
                Some(whole) => Feed::Snapshot(Box::new(whole)),
                None => continue,
            },
            Line::Events { events } => Feed::Events(events),
            Line::Lag { from, to } => Feed::Lag { missed: to.saturating_sub(from) },
            Line::Bye { why } => {
                return Ended::Goodbye(crate::text::clean(&why));
            }
            Line::Unknown => continue,
        };
        common.mailbox.put(target, feed);
    }
}
