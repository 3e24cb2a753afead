//! What links say, taken into the live world.

use herdfeed::Event;

use crate::clock::Now;
use crate::model::target::{Hearing, Link, Restart};
use crate::model::{Model, Occurrence, Target, World, deploy, log};
use crate::msg::{Feed, TargetId};

/// A process that is gone stays on screen this long.
const GONE_US: u64 = 30_000_000;
/// Ticks come several times a second: between two that are further apart this program did not run.
const OWN_GAP_US: u64 = 1_000_000;

/// Takes one thing that a link said.
pub(super) fn take(model: &mut Model, id: TargetId, feed: Feed) {
    let now = model.now;
    if let Feed::Added { address, name } = feed {
        add(&mut model.live, Target::new(id, address, name));
        return;
    }
    if let (Feed::Snapshot(_), Some(paused)) = (&feed, &mut model.paused) {
        paused.frames += 1;
    }
    let world = &mut model.live;
    match feed {
        Feed::Hello(hello) => {
            let Some(target) = world.target_mut(id) else { return };
            let first = target.hello.is_none();
            let restart = target.take_hello(*hello, now);
            greet(world, id, first, restart, now);
        }
        Feed::Gone(farewell) => {
            if let Some(target) = world.target_mut(id) {
                target.link = Link::Gone { at_us: now.mono_us, farewell };
                let name = target.name.clone();
                world.log.add(now.unix_us, &name, Occurrence::Ended(farewell));
            }
        }
        Feed::Events(events) => log_events(world, id, events),
        Feed::Added { .. }
        | Feed::Connecting
        | Feed::Past(_)
        | Feed::Snapshot(_)
        | Feed::Lag { .. }
        | Feed::BadLines(_)
        | Feed::Down { .. } => {
            state(world, id, feed, now);
        }
    }
}

fn log_events(world: &mut World, id: TargetId, events: Vec<Event>) {
    let Some(target) = world.target_mut(id) else { return };
    let name = target.name.clone();
    for event in target.new_events(events).into_iter().filter(|event| log::is_told(&event.fact)) {
        world.log.add(event.unix_us, &name, Occurrence::Event(event));
    }
}

fn state(world: &mut World, id: TargetId, feed: Feed, now: Now) {
    let Some(target) = world.target_mut(id) else { return };
    let name = target.name.clone();
    match feed {
        Feed::Past(past) => target.take_past(&past, now),
        Feed::Snapshot(snapshot) => {
            let silent = match target.link {
                Link::Silent { since_us } => Some(now.since_us(since_us)),
                Link::Connecting | Link::Up | Link::Waiting { .. } | Link::Gone { .. } => None,
            };
            target.take_snapshot(*snapshot, now);
            if let Some(after_us) = silent {
                world.log.add(now.unix_us, &name, Occurrence::Heard { after_us });
            }
        }
        Feed::BadLines(lines) => target.take_bad_lines(lines),
        Feed::Lag { missed } => {
            target.missed_events = target.missed_events.saturating_add(missed);
            world.log.add(now.unix_us, &name, Occurrence::Missed { events: missed });
        }
        Feed::Down { why, retry_at_us } => down(world, id, why, retry_at_us, now),
        // The countdown stays on screen until the try has an end.
        Feed::Connecting | Feed::Added { .. } | Feed::Hello(_) | Feed::Events(_) | Feed::Gone(_) => {}
    }
}

fn down(world: &mut World, id: TargetId, why: String, retry_at_us: u64, now: Now) {
    let Some(target) = world.target_mut(id) else { return };
    let (since_unix_us, known) = match &target.link {
        Link::Waiting { since_unix_us, .. } => (*since_unix_us, true),
        Link::Connecting | Link::Up | Link::Silent { .. } | Link::Gone { .. } => (now.unix_us, false),
    };
    let name = target.name.clone();
    // The row already says which process it is.
    let why = why.strip_prefix(&format!("{}: ", target.address)).map(str::to_owned).unwrap_or(why);
    target.link = Link::Waiting { why: why.clone(), retry_at_us, since_unix_us };
    // One line in the log for each loss, not for each vain try.
    if !known {
        world.log.add(now.unix_us, &name, Occurrence::Lost { why });
    }
}

fn greet(world: &mut World, id: TargetId, first: bool, restart: Option<Restart>, now: Now) {
    let Some(target) = world.target(id).cloned() else {
        return;
    };
    let restart = restart.or_else(|| deploy::replaced(world, &target, now).filter(|_| first));
    let told = match &restart {
        Some(restart) => Occurrence::Restarted { versions: restart.versions.clone() },
        None => Occurrence::Attached,
    };
    world.log.add(now.unix_us, &target.name, told);
    if let Some(target) = world.target_mut(id)
        && first
        && restart.is_some()
    {
        target.restarts += 1;
        target.restarted = restart;
    }
    world.targets.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
}

fn add(world: &mut World, target: Target) {
    if world.target(target.id).is_none() {
        world.targets.push(target);
        world.targets.sort_by(|a, b| (&a.name, a.id).cmp(&(&b.name, b.id)));
    }
}

/// Forgets processes that have been gone for a while.
pub(super) fn forget(model: &mut Model) {
    let now = model.now;
    model.live.targets.retain(|target| match target.link {
        Link::Gone { at_us, .. } => now.since_us(at_us) < GONE_US,
        Link::Connecting | Link::Up | Link::Silent { .. } | Link::Waiting { .. } => true,
    });
}

/// Notices who has fallen silent. A screen that stood still itself for `gap_us` (stopped, or its machine asleep)
/// has heard nobody meanwhile, and blames nobody.
pub(super) fn listen(model: &mut Model, gap_us: u64) {
    let now = model.now;
    for target in &mut model.live.targets {
        if gap_us > OWN_GAP_US {
            target.forgive(gap_us);
        }
        match target.listen(now) {
            Hearing::AsBefore => {}
            Hearing::FellSilent => model.live.log.add(now.unix_us, &target.name, Occurrence::Silent),
        }
    }
}
