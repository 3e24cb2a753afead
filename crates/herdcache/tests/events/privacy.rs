//! K2, P3: what the account shows of keys and errors when the application has not opted in to more.

use std::sync::Arc;

use herdcache::herdfeed::{CacheSnapshot, Event, Fact, GateSnapshot};
use herdcache::{Cache, Events, Gate, GetError, Key, KeyView, Secret, Ttl};
use tokio::task::JoinHandle;

use crate::support::{ms, turns};

const TTL: Ttl = Ttl::fresh_for(ms(60_000));
const KEY: &str = "alice@example.org";
const SECRET: &str = "password=hunter2";

/// How a load of the herd fails.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Error,
    Panic,
}

fn herd<K: Key>(cache: &Cache<K, u64, String>, key: &K, fault: Fault) -> Vec<JoinHandle<Result<(), GetError<String>>>> {
    let caller = |_| {
        let (cache, key) = (cache.clone(), key.clone());
        let load = move |_| async move {
            tokio::time::sleep(ms(100)).await;
            match fault {
                Fault::Error => Err::<u64, _>(SECRET.to_owned()),
                Fault::Panic => panic!("{SECRET}"),
            }
        };
        tokio::spawn(async move { cache.get_with(&key, load).await.map(drop) })
    };
    (0..40).map(caller).collect()
}

/// Everything that leaves the process about a cache, as it is on the wire.
fn wire(cache: &CacheSnapshot, gate: &GateSnapshot, told: &[Arc<Event>]) -> String {
    let told: Vec<&Event> = told.iter().map(|event| &**event).collect();
    serde_json::to_string(&(cache, gate, told)).unwrap()
}

async fn account<K: Key>(key: &K, view: KeyView<K>, fault: Fault) -> (String, Vec<String>) {
    let gate = Gate::new(64);
    let cache = Cache::<K, u64, String>::builder("private", TTL, &gate).show_keys(view).build().unwrap();
    let mut events: Events = cache.events();
    let callers = herd(&cache, key, fault);
    turns().await;
    let during = wire(&cache.snapshot(), &gate.snapshot(), &[]);
    for caller in callers {
        // The caller itself is told all of it.
        assert!(caller.await.unwrap().unwrap_err().to_string().contains(SECRET));
    }
    let told = events.take();
    let names = told.iter().filter_map(|event| match &event.fact {
        Fact::HerdStarted { key, .. } => Some(key.clone()),
        Fact::HerdEnded(end) => Some(end.key.clone()),
        _ => None,
    });
    let names: Vec<String> = names.collect();
    (during + &wire(&cache.snapshot(), &gate.snapshot(), &told), names)
}

/// K2, P3: neither the key nor what an error or a panic says ever leaves the process by default.
#[tokio::test(start_paused = true)]
async fn p3_neither_keys_nor_error_texts_are_shown_by_default() {
    for fault in [Fault::Error, Fault::Panic] {
        let (wire, names) = account(&KEY.to_owned(), KeyView::Hash, fault).await;
        assert!(!wire.contains("alice") && !wire.contains("hunter2"), "{wire}");
        assert_eq!(names.len(), 2, "a herd's start and its end");
        let digits = names[0].len() == 16 && names[0].chars().all(|c| c.is_ascii_hexdigit());
        assert!(digits && names[1] == names[0], "{names:?}");
        assert!(wire.contains(&names[0]));
    }
}

/// K2: a view of the application's own shows what it returns, and no more; opting in to keys shows no errors.
#[tokio::test(start_paused = true)]
async fn k2_a_reader_sees_what_the_application_allows() {
    let masked = KeyView::With(|key: &String| format!("{}…", &key[..1]));
    let (wire, names) = account(&KEY.to_owned(), masked, Fault::Error).await;
    assert_eq!(names, ["a…", "a…"]);
    assert!(!wire.contains("alice") && !wire.contains("hunter2"), "{wire}");
    let (wire, names) = account(&KEY.to_owned(), KeyView::Plain, Fault::Panic).await;
    assert_eq!(names, [KEY, KEY]);
    assert!(!wire.contains("hunter2"), "{wire}");
}

/// K2: where keys are shown, their secret parts are not: in no event, flight or hot key.
#[tokio::test(start_paused = true)]
async fn k2_secret_parts_of_a_shown_key_never_leave_the_process() {
    let key = ("acme".to_owned(), Secret::new(KEY.to_owned()));
    let (wire, names) = account(&key, KeyView::Plain, Fault::Error).await;
    assert!(!wire.contains("alice"), "{wire}");
    let digits = names[0].strip_prefix(r##"["acme","#"##).and_then(|rest| rest.strip_suffix(r#""]"#)).unwrap();
    assert!(digits.len() == 16 && digits.chars().all(|c| c.is_ascii_hexdigit()), "{names:?}");
    assert_eq!((names.len(), &names[1]), (2, &names[0]));
}
