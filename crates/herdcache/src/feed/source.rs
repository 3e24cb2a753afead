//! What the feed tells: the registry's account, and who speaks.

use herdfeed::hello::VERSION;
use herdfeed::server::{Batch, Source};
use herdfeed::{Clock, Hello, Process, Snapshot};

use crate::{clock, events, registry};

/// The registry as the feed's source.
pub(super) struct Account {
    process: Process,
}

impl Account {
    pub(super) fn of(service: &str, version: Option<&str>) -> Self {
        Self { process: process(service, version) }
    }
}

impl Source for Account {
    fn hello(&self) -> Hello {
        let (caches, gates) = registry::process_config();
        Hello {
            v: VERSION,
            min: VERSION[0],
            lib: concat!("herdcache ", env!("CARGO_PKG_VERSION")).to_owned(),
            process: self.process.clone(),
            clock: Clock { mono_us: clock::exact() / 1_000, unix_us: clock::unix_us() },
            caps: ["flights", "hot_keys", "conditions", "events", "past", "keys"].map(String::from).to_vec(),
            caches,
            gates,
        }
    }

    fn snapshot(&self) -> Snapshot {
        registry::process_snapshot()
    }

    fn events(&self, since: u64, most: usize) -> Batch {
        let (events, next) = events::ring().read(since, most);
        // Numbers start at 1, so that a reader who asks from 0 has missed nothing before that.
        let wanted = since.max(1);
        let lag = events.first().map(|event| event.seq).filter(|first| *first > wanted).map(|first| (wanted, first));
        Batch { events: events.iter().map(|event| (**event).clone()).collect(), lag, next }
    }
}

/// The longest name and version that are told, in characters.
const TOLD: usize = 64;

fn process(service: &str, version: Option<&str>) -> Process {
    Process {
        service: cut(service),
        app_version: version.map(str::trim).filter(|version| !version.is_empty()).map(cut),
        host: host(),
        pid: std::process::id(),
        // Random per start, so that a reader tells a restart from a pause.
        boot: format!("{:016x}", fastrand::u64(..)),
        started_unix_us: clock::unix_us(),
    }
}

/// L7: a line has room for a name, not for a book.
fn cut(text: &str) -> String {
    match text.char_indices().nth(TOLD) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The machine's name, empty where it cannot be had.
fn host() -> String {
    #[cfg(target_os = "linux")]
    return rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(target_os = "linux"))]
    return String::new();
}

#[cfg(test)]
mod tests {
    use super::*;
    use herdfeed::Line;

    /// P2: a version is data. However odd, it arrives as it was given, and its line holds no control character.
    #[test]
    fn p2_the_applications_version_travels_as_data() {
        for odd in ["1.4.2", "1.4.2 \"beta\"", "a\\b", "1\u{1b}[31m", "1\nt\":\"bye", "\u{202e}2.4.1", "é"] {
            let line = Line::Hello(Box::new(Account::of("shop", Some(odd)).hello())).encode().unwrap();
            let ends = line.iter().filter(|byte| byte.is_ascii_control()).count();
            assert_eq!((ends, line.last()), (1, Some(&b'\n')), "{odd:?}");
            let Ok(Line::Hello(hello)) = Line::decode(&line) else { panic!("{odd:?}") };
            assert_eq!(hello.process.app_version.as_deref(), Some(odd));
        }
    }

    /// L7: a version is trimmed and cut, and one of nothing is none.
    #[test]
    fn l7_a_version_is_cut() {
        let told = |version| Account::of("shop", version).hello().process.app_version;
        assert_eq!(told(Some(" 1.4.2\n")), Some("1.4.2".to_owned()));
        assert_eq!((told(None), told(Some("")), told(Some(" "))), (None, None, None));
        assert_eq!(told(Some(&"é".repeat(10_000))), Some(format!("{}…", "é".repeat(64))));
        assert_eq!(Account::of(&"s".repeat(1_000_000), None).hello().process.service.len(), 64 + "…".len());
    }
}
