//! Findings about the processes themselves: unreachable, restarted, gone.

use herdfeed::Severity;

use super::{Finding, Kind};
use crate::clock::Now;
use crate::figures::{number, seconds};
use crate::model::{Link, Target, World, deploy};
use crate::msg::Farewell;

/// A restart is told this long: a cold cache needs about that to warm up.
const RESTART_TOLD_US: u64 = 30_000_000;
/// A link that is down this shortly is only a blink.
const BLINK_US: u64 = 500_000;

/// What is to be said about the processes.
pub(super) fn judge(world: &World, now: Now) -> Vec<Finding> {
    let successors = deploy::successors(world);
    let mut findings = Vec::new();
    for target in &world.targets {
        findings.extend(link(target, successors.get(&target.id).copied(), now));
        findings.extend(restart(target, now));
    }
    findings
}

fn link(target: &Target, successor: Option<&Target>, now: Now) -> Option<Finding> {
    let finding = |kind, severity| Finding::new(kind, severity, &target.name, &target.name);
    match &target.link {
        Link::Waiting { why, since_unix_us, retry_at_us } => {
            let young = now.unix_us.saturating_sub(*since_unix_us) < BLINK_US;
            // Nobody tries again after a single look, or when the link itself has failed.
            let cure = if *retry_at_us == u64::MAX { "" } else { "R retries now" };
            (!young).then(|| {
                finding(Kind::Unreachable, Severity::Warn).what(why.clone(), 0).since(*since_unix_us).cure(cure)
            })
        }
        Link::Gone { at_us, farewell: Farewell::Said } => Some(
            finding(Kind::Ended, Severity::Info)
                .since(wall(*at_us, now))
                .why("it said goodbye")
                .cure("nothing to do if it was stopped on purpose"),
        ),
        Link::Gone { at_us, farewell: Farewell::Unsaid } => Some(died(target, successor).since(wall(*at_us, now))),
        Link::Silent { since_us } => {
            let silent_us = now.since_us(*since_us);
            Some(silent(finding(Kind::Silent, Severity::Warn), target.unreadable, silent_us))
        }
        Link::Up | Link::Connecting => None,
    }
}

/// A stream without a word; or one of which no word can be read.
fn silent(base: Finding, unreadable: u64, silent_us: u64) -> Finding {
    if unreadable == 0 {
        return base
            .what(format!("no word for {}", seconds(silent_us)), silent_us)
            .why("its stream is open, nothing comes: stopped, or its host is overloaded")
            .cure("look at the process and its host; its figures are left out");
    }
    let lines = if unreadable == 1 { "1 line".to_owned() } else { format!("{} lines", number(unreadable)) };
    base.what(format!("{lines} came that cannot be read, none that can for {}", seconds(silent_us)), silent_us)
        .why("its stream is open, and what comes is no line of a feed that this reader knows")
        .cure("look at what lies between: a proxy, or another version; its figures are left out")
}

/// A moment of our monotonic clock as wall time.
fn wall(at_us: u64, now: Now) -> u64 {
    now.unix_us.saturating_sub(now.since_us(at_us))
}

fn died(target: &Target, successor: Option<&Target>) -> Finding {
    let finding = |kind, severity| Finding::new(kind, severity, &target.name, &target.name);
    match successor {
        Some(peer) => finding(Kind::Replaced, Severity::Info)
            .what(format!("by {}", peer.name), 0)
            .why("it went without a goodbye, and another took its place")
            .cure("look at its log and exit code if nobody restarted it"),
        None => finding(Kind::Died, Severity::Warn)
            .why("it ended without a goodbye: killed, crashed, or it does not shut down its feed")
            .cure("look at its log and exit code"),
    }
}

fn restart(target: &Target, now: Now) -> Option<Finding> {
    let restart = target.restarted.as_ref()?;
    (now.since_us(restart.at.mono_us) <= RESTART_TOLD_US).then(|| {
        let what = if restart.versions.is_empty() { String::new() } else { format!("deploy {}", restart.versions) };
        Finding::new(Kind::Restarted, Severity::Info, &target.name, &target.name)
            .what(what, 0)
            .since(restart.at.unix_us)
            .why("another boot: its local cache began empty")
            .cure("expect misses until it is warm; warm-up shortens that")
    })
}
