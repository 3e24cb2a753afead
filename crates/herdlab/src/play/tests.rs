use super::*;
use crate::scenario::builtin;
use herdfeed::line::Assembler;
use herdfeed::recording::{Entry, Reader};
use herdfeed::{Line, Snapshot};

fn short(name: &str, seconds: u64) -> Scenario {
    let mut scenario = builtin(name).unwrap().unwrap();
    scenario.traffic.length = crate::scenario::Time(Duration::from_secs(seconds));
    scenario.traffic.per_second = scenario.traffic.per_second.min(500.0);
    scenario
}

/// The run as it is printed, without the machine's own times.
fn printed(name: &str, policy: &str, seed: u64) -> String {
    let run = play(&short(name, 12), &policy.parse().unwrap(), seed).unwrap();
    let mut run = serde_json::to_value(&run).unwrap();
    run["started_at"] = "".into();
    run["wall_ms"] = 0.into();
    serde_json::to_string_pretty(&run).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_byte() {
    for (name, policy) in [
        ("hot-key", "none"),
        ("slow-origin", "all"),
        ("failing-origin", "all"),
        ("penetration", "all"),
        ("eviction-not-expiry", "all"),
        ("cold-start", "all"),
    ] {
        let (first, second) = (printed(name, policy, 7), printed(name, policy, 7));
        let differs = first.lines().zip(second.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "{name} under {policy}");
        assert_ne!(first, printed(name, policy, 8), "{name}: another seed is another run");
    }
}

/// Impatient callers, and what they leave behind (field case 02).
#[test]
fn s4_case_02_callers_that_leave_early_still_fill_the_cache() {
    let scenario = builtin("impatient-callers").unwrap().unwrap();
    let run = play(&scenario, &"singleflight".parse().unwrap(), 1).unwrap();
    assert!(run.pass, "{:?}", run.checks.iter().filter(|check| !check.pass).collect::<Vec<_>>());
    assert_eq!(run.figures.origin_calls, 1);
}

#[test]
fn settings_that_cannot_work_are_told_not_played() {
    let mut scenario = short("hot-key", 1);
    scenario.cache.jitter = Some(0.9);
    let error = play(&scenario, &"all".parse().unwrap(), 1).unwrap_err().to_string();
    assert!(error.contains("jitter"), "{error}");
}

/// What a run writes, for its test to read.
#[derive(Clone, Default)]
struct Sink(Arc<parking_lot::Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn lines(file: &[u8]) -> Vec<(u64, Line)> {
    let mut reader = Reader::new(file).unwrap();
    let mut lines = Vec::new();
    while let Some(entry) = reader.next_entry().unwrap() {
        match entry {
            Entry::Source { address, .. } => assert_eq!(address, "lab:hot-key"),
            Entry::Received { rx_us, line, .. } => lines.push((rx_us, *line)),
        }
    }
    assert_eq!((reader.bad_lines(), reader.is_cut()), (0, false));
    lines
}

#[test]
fn a_recording_tells_what_the_run_told_and_does_not_change_it() {
    let (scenario, policy) = (short("hot-key", 12), "singleflight".parse().unwrap());
    let (sink, plain) = (Sink::default(), play(&scenario, &policy, 7).unwrap());
    let run = play_recorded(&scenario, &policy, 7, Box::new(sink.clone())).unwrap();
    assert_eq!(run.figures.outcomes, plain.figures.outcomes);
    let lines = lines(&sink.0.lock());
    let (first, last) = (lines[0].0, lines[lines.len() - 1].0);
    assert!((11_500_000..13_000_000).contains(&(last - first)), "times are the run's: {}", last - first);
    assert!(matches!(&lines[0].1, Line::Hello(hello) if hello.process.service == "hot-key" && hello.caches.len() == 1));
    assert!(matches!(lines[lines.len() - 1].1, Line::Bye { .. }));
    let mut assembler = Assembler::default();
    let mut whole: Vec<Snapshot> = Vec::new();
    let mut events = Vec::new();
    for (_, line) in lines {
        match line {
            Line::Snap { part, snapshot } => whole.extend(assembler.take(part, *snapshot)),
            Line::Events { events: some } => events.extend(some),
            _ => {}
        }
    }
    assert!(whole.len() >= 48, "four each second: {}", whole.len());
    let told = &whole[whole.len() - 1];
    assert_eq!(told.caches[0].outcomes, run.figures.outcomes);
    assert_eq!(told.caches[0].origin_calls, run.figures.origin_calls);
    assert_eq!((told.gates.len(), told.gates[0].limit), (1, scenario.gate.permits() as u64));
    assert!(whole.windows(2).all(|pair| pair[0].seq + 1 == pair[1].seq && pair[0].unix_us <= pair[1].unix_us));
    // The herd at the expiry is told, in order and without a gap.
    assert!(events.iter().any(|event| matches!(event.fact, herdfeed::Fact::HerdEnded(_))), "{events:?}");
    assert!((1..).zip(&events).all(|(seq, event)| event.seq == seq) && told.next_event == events.len() as u64 + 1);
}

/// What lasts is told with the time at which it began, on the run's clock: that of the recording, not of the machine.
#[test]
fn conditions_of_a_recording_begin_within_it() {
    let (scenario, sink) = (short("origin-down", 12), Sink::default());
    play_recorded(&scenario, &"all".parse().unwrap(), 7, Box::new(sink.clone())).unwrap();
    let (mut assembler, mut began) = (Assembler::default(), Vec::new());
    let file = sink.0.lock().clone();
    let mut reader = Reader::new(&file[..]).unwrap();
    let mut first = None;
    while let Some(entry) = reader.next_entry().unwrap() {
        let Entry::Received { rx_us, line, .. } = entry else { continue };
        first.get_or_insert(rx_us);
        let Line::Snap { part, snapshot } = *line else { continue };
        if let Some(whole) = assembler.take(part, *snapshot) {
            let all = whole.caches.iter().flat_map(|one| &one.conditions);
            let all = all.chain(whole.gates.iter().flat_map(|one| &one.conditions));
            began.extend(all.map(|event| (event.unix_us - first.unwrap(), whole.unix_us - first.unwrap())));
        }
    }
    // The database hangs from 5 s on, which its timeouts of 500 ms and a queue of 100 ms find out soon.
    assert!(began.iter().filter(|(at, _)| (5_000_000..5_600_000).contains(at)).count() > 10, "{began:?}");
    // Nothing is told before it begins.
    assert!(began.iter().all(|(at, told)| at <= told), "{began:?}");
}

#[test]
fn a_recording_that_cannot_be_written_fails_the_run() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = play_recorded(&short("hot-key", 1), &"all".parse().unwrap(), 1, Box::new(Full)).unwrap_err();
    assert!(matches!(error, PlayError::Record(_)), "{error}");
}
