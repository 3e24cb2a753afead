//! `--once`: one look, printed, for pipes and checks. It takes two snapshots a second apart.

mod json;
mod report;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use herdfeed::client::fetch;
use herdfeed::{Address, Hello, Severity, Snapshot, Token};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use crate::clock::{self, Now};
use crate::model::World;
use crate::model::target::{Link, Target};
use crate::msg::TargetId;
use crate::verdict::{self, Finding};

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One document.
    Json,
    /// A short report.
    Text,
}

/// An address with what it said, or why it said nothing.
pub type Answered = (Address, Result<Arc<(Hello, Snapshot)>, String>);

/// One look at every target.
#[derive(Debug)]
pub struct Look {
    /// When.
    pub at: Now,
    /// Each address with what it said, or why it said nothing.
    pub targets: Vec<Answered>,
    /// What is wrong, most severe first.
    pub findings: Vec<Finding>,
}

/// Looks at every address, at all of them at the same time, twice within a second.
///
/// # Errors
/// The runtime could not be started.
pub fn look(addresses: &[Address], token: Option<&Token>) -> std::io::Result<Look> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let (first, mut targets) = runtime.block_on(async {
        let first = ask(addresses, token).await;
        if first.iter().any(|(_, answer)| answer.is_ok()) {
            tokio::time::sleep(BETWEEN).await;
        }
        (first, ask(addresses, token).await)
    });
    targets.sort_by(|a, b| a.0.cmp(&b.0));
    let at = clock::read();
    let findings = verdict::findings(&world(&first, &targets, at), at);
    Ok(Look { at, targets, findings })
}

/// Time between two looks: what is wrong *now* shows in what the counters gain, not in what they are.
const BETWEEN: Duration = Duration::from_secs(1);

async fn ask(addresses: &[Address], token: Option<&Token>) -> Vec<Answered> {
    let mut asked = JoinSet::new();
    for address in addresses.iter().cloned() {
        let token = token.cloned();
        asked.spawn(async move {
            let answer = fetch(&address, token.as_ref()).await;
            let told = answer.map(Arc::new).map_err(|error| format!("{address}: {}", crate::link::reason(&error)));
            (address, told)
        });
    }
    asked.join_all().await
}

/// The same world that the screen would have after two snapshots of each.
fn world(first: &[Answered], targets: &[Answered], at: Now) -> World {
    let between = u64::try_from(BETWEEN.as_micros()).unwrap_or(0);
    let before = Now { mono_us: at.mono_us.saturating_sub(between), unix_us: at.unix_us.saturating_sub(between) };
    let one = |(id, (address, answer)): (u32, &Answered)| {
        let mut target = Target::new(TargetId(id), address.to_string(), address.to_string());
        match answer {
            Ok(said) => {
                let same_boot = |earlier: &&Arc<(Hello, Snapshot)>| earlier.0.process.boot == said.0.process.boot;
                let earlier =
                    first.iter().find(|(known, _)| known == address).and_then(|(_, answer)| answer.as_ref().ok());
                target.take_hello(said.0.clone(), before);
                if let Some(earlier) = earlier.filter(same_boot) {
                    target.take_snapshot(earlier.1.clone(), before);
                }
                target.take_snapshot(said.1.clone(), at);
            }
            Err(why) => {
                // Down for long enough that it is no blink, and nobody tries again.
                let why = why.strip_prefix(&format!("{address}: ")).unwrap_or(why);
                target.link = Link::Waiting {
                    why: why.to_owned(),
                    retry_at_us: u64::MAX,
                    since_unix_us: at.unix_us.saturating_sub(1_000_000),
                };
            }
        }
        target
    };
    World { targets: (0..).zip(targets).map(one).collect(), ..World::default() }
}

impl Look {
    /// How many targets answered.
    pub fn answered(&self) -> usize {
        self.targets.iter().filter(|(_, answer)| answer.is_ok()).count()
    }

    /// Whether a finding is at least this severe.
    pub fn is_at_least(&self, severity: Severity) -> bool {
        verdict::worst(&self.findings).is_some_and(|worst| worst >= severity)
    }

    /// The look in `format`, with its last newline.
    ///
    /// # Errors
    /// The document could not be written as JSON.
    pub fn printed(&self, format: Format) -> Result<String, serde_json::Error> {
        match format {
            Format::Json => json::document(self),
            Format::Text => Ok(report::text(self)),
        }
    }
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&report::text(self))
    }
}
