//! Findings about the processes themselves: unreachable, restarted, gone.

use herdfeed::Severity;

use super::{Finding, Kind};
use crate::clock::Now;
use crate::figures::seconds;
use crate::model::{Link, Target};
use crate::msg::Farewell;

/// A restart is told this long: a cold cache needs about that to warm up.
const RESTART_TOLD_US: u64 = 30_000_000;
/// A link that is down this shortly is only a blink.
const BLINK_US: u64 = 500_000;
/// A stream that is silent this long is worth a word.
const SILENT_US: u64 = 3_000_000;

/// What is to be said about one process.
pub(super) fn judge(target: &Target, now: Now) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(link(target, now));
    findings.extend(restart(target, now));
    findings
}

fn link(target: &Target, now: Now) -> Option<Finding> {
    let finding = |kind, severity| Finding::new(kind, severity, &target.name, &target.name);
    match &target.link {
        Link::Waiting { why, since_unix_us, .. } => {
            let young = now.unix_us.saturating_sub(*since_unix_us) < BLINK_US;
            (!young).then(|| {
                finding(Kind::Unreachable, Severity::Warn)
                    .what(why.clone(), 0)
                    .since(*since_unix_us)
                    .cure("is it running? R retries")
            })
        }
        Link::Gone { farewell: Farewell::Said, .. } => Some(
            finding(Kind::Ended, Severity::Info)
                .why("it said goodbye")
                .cure("nothing to do if it was stopped on purpose"),
        ),
        Link::Gone { farewell: Farewell::Unsaid, .. } => Some(
            finding(Kind::Died, Severity::Warn)
                .why("it went without a goodbye: crashed or killed")
                .cure("look at its log and exit code"),
        ),
        Link::Up => {
            let lag = target.lag_us(now)?;
            (lag > SILENT_US).then(|| {
                finding(Kind::Unreachable, Severity::Warn)
                    .what(format!("silent for {}", seconds(lag)), lag)
                    .why("the process is up but says nothing")
                    .cure("its host may be overloaded: look there")
            })
        }
        Link::Connecting => None,
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
