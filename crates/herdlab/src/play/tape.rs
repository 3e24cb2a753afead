//! The feed of a run, recorded as a reader would have received it: hello, then events and snapshots four times a
//! second of virtual time, and bye.
//!
//! Times are those of the run: wall time starts with it and goes on with its clock, or else a recording of
//! five hours would be one of two minutes. The events are the cache's, numbered anew since the process counts those of
//! other runs with them. A gate's events cannot be read apart from a whole process's feed; its conditions are in
//! every snapshot.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use herdcache::Events;
use herdfeed::hello::VERSION;
use herdfeed::line::snapshot_lines;
use herdfeed::recording::{RecordingError, Writer};
use herdfeed::{Clock, Event, Hello, Line, Process, Snapshot};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::stage::Stage;
use crate::policy::Policy;
use crate::scenario::Scenario;

/// Time between two looks.
const EVERY: Duration = Duration::from_millis(250);
/// Events in a line: a line has its limit.
const EVENTS_PER_LINE: usize = 100;
/// A recording of the lab has one source.
const SOURCE: u32 = 1;

/// Where a recording goes.
pub(super) type Out = Box<dyn Write + Send>;

/// Begins to record a run that begins now.
pub(super) fn roll(
    stage: &Arc<Stage>,
    out: Out,
    scenario: &Scenario,
    policy: &Policy,
    wall: SystemTime,
) -> Result<Running, RecordingError> {
    let mut tape = Tape::start(stage, out, &scenario.name, wall)?;
    let hello = tape.hello(&scenario.name, &policy.to_string());
    tape.put(&Line::Hello(Box::new(hello)))?;
    tape.look()?;
    Ok(Running::on(tape))
}

/// What is recorded, and what of.
struct Tape {
    stage: Arc<Stage>,
    writer: Writer<Out>,
    address: String,
    events: Events,
    start: Instant,
    wall_us: u64,
    mono_us: u64,
    snapshots: u64,
    /// The number of the next event: those of other caches are not counted.
    next_event: u64,
}

impl Tape {
    fn start(stage: &Arc<Stage>, out: Out, scenario: &str, wall: SystemTime) -> Result<Self, RecordingError> {
        let wall_us = wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        Ok(Self {
            stage: Arc::clone(stage),
            writer: Writer::new(out, concat!("herdlab ", env!("CARGO_PKG_VERSION")))?,
            address: format!("lab:{scenario}"),
            events: stage.cache.events(),
            start: Instant::now(),
            wall_us: u64::try_from(wall_us).unwrap_or(u64::MAX),
            mono_us: herdcache::process_snapshot().mono_us,
            snapshots: 0,
            next_event: 1,
        })
    }

    /// Wall time of a moment on the run's clock.
    fn wall(&self, mono_us: u64) -> u64 {
        self.wall_us.saturating_add(mono_us.saturating_sub(self.mono_us))
    }

    /// Now on the run's clock.
    fn now_us(&self) -> u64 {
        self.mono_us + u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX / 2)
    }

    fn put(&mut self, line: &Line) -> Result<(), RecordingError> {
        let rx_us = self.wall(self.now_us());
        self.writer.line(SOURCE, &self.address, rx_us, line)
    }

    fn hello(&self, scenario: &str, policy: &str) -> Hello {
        let (mut caches, mut gates) = herdcache::process_config();
        caches.retain(|cache| cache.name == self.stage.cache.name());
        gates.retain(|gate| gate.name == self.stage.gate.name());
        let process = Process {
            service: scenario.into(),
            app_version: Some(policy.into()),
            host: String::new(),
            pid: std::process::id(),
            boot: format!("{:016x}", self.wall_us),
            started_unix_us: self.wall_us,
        };
        let caps = ["flights", "hot_keys", "conditions", "events", "keys"].map(String::from).to_vec();
        let (lib, clock) = (
            concat!("herdlab ", env!("CARGO_PKG_VERSION")).into(),
            Clock { mono_us: self.mono_us, unix_us: self.wall_us },
        );
        Hello { v: VERSION, min: VERSION[0], lib, process, clock, caps, caches, gates }
    }

    /// Records what has happened since the last look, and how things stand.
    fn look(&mut self) -> Result<(), RecordingError> {
        let events: Vec<Event> = self.events.take().iter().map(|event| (**event).clone()).collect();
        for some in events.chunks(EVENTS_PER_LINE) {
            let events = some.iter().map(|event| self.numbered(event)).collect();
            self.put(&Line::Events { events })?;
        }
        let snapshot = self.snapshot();
        for line in snapshot_lines(snapshot) {
            self.put(&line)?;
        }
        Ok(())
    }

    fn numbered(&mut self, event: &Event) -> Event {
        let seq = self.next_event;
        self.next_event += 1;
        Event { seq, ..self.timed(event) }
    }

    fn timed(&self, event: &Event) -> Event {
        Event { unix_us: self.wall(event.mono_us), ..event.clone() }
    }

    fn snapshot(&mut self) -> Snapshot {
        self.snapshots += 1;
        let mono_us = self.now_us();
        let (mut cache, mut gate) = (self.stage.cache.snapshot(), self.stage.gate.snapshot());
        for conditions in [&mut cache.conditions, &mut gate.conditions] {
            for event in conditions.iter_mut() {
                *event = self.timed(event);
            }
        }
        Snapshot {
            seq: self.snapshots,
            mono_us,
            unix_us: self.wall(mono_us),
            caches: vec![cache],
            gates: vec![gate],
            next_event: self.next_event,
            events_dropped: self.events.missed(),
        }
    }

    /// The last look, and bye.
    fn end(mut self) -> Result<(), RecordingError> {
        self.look()?;
        self.put(&Line::Bye { why: "shutdown".into() })?;
        self.writer.flush()
    }
}

/// A tape that runs until it is ended.
pub(super) struct Running {
    /// Its first failure ends it.
    tape: Arc<Mutex<Option<Result<Tape, RecordingError>>>>,
    task: JoinHandle<()>,
}

impl Running {
    fn on(tape: Tape) -> Self {
        let tape = Arc::new(Mutex::new(Some(Ok(tape))));
        let looked = Arc::clone(&tape);
        let task = tokio::spawn(async move {
            let mut tick = tokio::time::interval(EVERY);
            tick.tick().await;
            loop {
                tick.tick().await;
                let mut held = looked.lock();
                if let Some(Ok(tape)) = held.as_mut()
                    && let Err(error) = tape.look()
                {
                    *held = Some(Err(error));
                    return;
                }
            }
        });
        Self { tape, task }
    }

    pub(super) fn end(self) -> Result<(), RecordingError> {
        self.task.abort();
        let tape = self.tape.lock().take();
        match tape {
            Some(tape) => tape?.end(),
            None => Ok(()),
        }
    }
}
