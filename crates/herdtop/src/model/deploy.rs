//! What only the sight over several processes shows: drift of settings, and a
//! process that takes another one's place.

use std::collections::BTreeMap;

use herdfeed::Hello;
use serde_json::Value;

use super::World;
use super::target::{Link, Restart, Target, versions};
use crate::clock::Now;
use crate::msg::{Farewell, TargetId};

/// A process that came this soon after another of its service ended has replaced it.
const REPLACED_US: u64 = 30_000_000;

/// Settings by name, as `users.stale_ms`.
pub type Settings = BTreeMap<String, String>;

/// The usual settings of each service, by its name.
pub type Usual = BTreeMap<String, Settings>;

/// The most frequent value of every setting, for each service with more than one process.
pub fn usual(world: &World) -> Usual {
    let mut services: BTreeMap<&str, Vec<&Settings>> = BTreeMap::new();
    for target in &world.targets {
        if let Some(service) = target.service() {
            services.entry(service).or_default().push(&target.settings);
        }
    }
    let several = services.into_iter().filter(|(_, peers)| peers.len() > 1);
    several.map(|(service, peers)| (service.to_owned(), most_frequent(&peers))).collect()
}

/// Among equally frequent values that of the first process wins.
fn most_frequent(peers: &[&Settings]) -> Settings {
    let mut counts: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for (name, value) in peers.iter().flat_map(|peer| peer.iter()) {
        let values = counts.entry(name).or_default();
        match values.iter_mut().find(|(other, _)| other == value) {
            Some((_, count)) => *count += 1,
            None => values.push((value, 1)),
        }
    }
    let mut most = Settings::new();
    for (name, values) in counts {
        if let Some((value, _)) = values.into_iter().rev().max_by_key(|(_, count)| *count) {
            most.insert(name.to_owned(), value.to_owned());
        }
    }
    most
}

/// The settings in which `target` differs from most processes of its service, by name.
pub fn drift(usual: &Usual, target: &Target) -> Vec<String> {
    let Some(usual) = target.service().and_then(|service| usual.get(service)) else {
        return Vec::new();
    };
    let differs = |(name, mine): (&String, &String)| (usual.get(name)? != mine).then(|| name.clone());
    target.settings.iter().filter_map(differs).collect()
}

/// Every setting that a process told.
pub(super) fn settings(hello: &Hello) -> Settings {
    let mut all = Settings::new();
    let caches = hello.caches.iter().map(|c| (&c.name, serde_json::to_value(c)));
    let gates = hello.gates.iter().map(|g| (&g.name, serde_json::to_value(g)));
    for (owner, value) in caches.chain(gates) {
        let Ok(Value::Object(fields)) = value else { continue };
        for (field, value) in fields {
            all.insert(format!("{owner}.{field}"), value.to_string());
        }
    }
    all
}

/// The restart that `target` stands for, if it took the place of a process of its service.
pub fn replaced(world: &World, target: &Target, now: Now) -> Option<Restart> {
    let mine = target.hello.as_ref()?;
    let old = world.targets.iter().find(|peer| {
        peer.id != target.id
            && peer.service() == target.service()
            && ended_at(peer).is_some_and(|at| now.since_us(at) <= REPLACED_US)
    })?;
    let theirs = old.hello.as_ref()?;
    Some(Restart { at: now, versions: versions(theirs, mine) })
}

fn ended_at(target: &Target) -> Option<u64> {
    match target.link {
        Link::Gone { at_us, .. } => Some(at_us),
        // A socket may outlive its process for a moment: its last word counts.
        Link::Waiting { .. } => target.recent.newest().map(|newest| newest.at_us),
        Link::Connecting | Link::Up | Link::Silent { .. } => None,
    }
}

/// For every process that went without a goodbye the one that took its place: of the same service, up or itself gone
/// since, and started after its last word; or shortly before, when the old one had run for a while: a rolling deploy
/// overlaps. Peers that started together with it are no successors. No process takes the place of two.
pub fn successors(world: &World) -> BTreeMap<TargetId, &Target> {
    let mut gone: Vec<(u64, &Target)> = world.targets.iter().filter_map(|t| died_at(t).map(|at| (at, t))).collect();
    gone.sort_by_key(|(at, target)| (*at, target.id));
    let mut successors: BTreeMap<TargetId, &Target> = BTreeMap::new();
    for (at, old) in gone {
        let is_free = |peer: &&Target| successors.values().all(|taken| taken.id != peer.id);
        let candidates = world.targets.iter().filter(|peer| follows(peer, old, at)).filter(is_free);
        if let Some(peer) = candidates.min_by_key(|peer| (peer.started_us, peer.id)) {
            successors.insert(old.id, peer);
        }
    }
    successors
}

fn follows(peer: &Target, old: &Target, at: u64) -> bool {
    let (Some(started), Some(began)) = (peer.started_us, old.started_us) else { return false };
    let after = started >= at;
    let shortly_before = started.saturating_add(REPLACED_US) >= at && started >= began.saturating_add(REPLACED_US);
    // One that took a place and died is another death with a successor of its own; a silent one took none yet.
    let came = matches!(peer.link, Link::Up | Link::Gone { .. }) && peer.id != old.id;
    came && old.service().is_some() && peer.service() == old.service() && (after || shortly_before)
}

/// When a process that went without a goodbye was heard last.
fn died_at(target: &Target) -> Option<u64> {
    match target.link {
        Link::Gone { at_us, farewell: Farewell::Unsaid } => Some(target.told_us().unwrap_or(at_us)),
        Link::Gone { farewell: Farewell::Said, .. }
        | Link::Connecting
        | Link::Up
        | Link::Silent { .. }
        | Link::Waiting { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use herdfeed::{CacheConfig, Clock, Process};

    fn target(id: u32, version: &str, stale_ms: u64) -> Target {
        let mut target = Target::new(TargetId(id), format!("{id}"), format!("{id}"));
        let hello = Hello {
            v: [1, 0],
            min: 1,
            lib: String::new(),
            process: Process { service: "api".into(), app_version: Some(version.into()), ..Process::default() },
            clock: Clock::default(),
            caps: vec![],
            caches: vec![CacheConfig { name: "users".into(), stale_ms, ..CacheConfig::default() }],
            gates: vec![],
        };
        target.take_hello(hello, Now::default());
        target
    }

    #[test]
    fn the_odd_one_out_has_drifted() {
        let world =
            World { targets: vec![target(1, "1", 50), target(2, "1", 60), target(3, "1", 60)], ..World::default() };
        assert_eq!(drift(&usual(&world), &world.targets[0]), ["users.stale_ms"]);
        assert!(drift(&usual(&world), &world.targets[1]).is_empty());
    }

    #[test]
    fn a_process_that_follows_an_ended_one_replaces_it() {
        let mut old = target(1, "1.2", 0);
        old.link = Link::Gone { at_us: 5_000_000, farewell: crate::msg::Farewell::Said };
        let new = target(2, "1.3", 0);
        let world = World { targets: vec![old, new.clone()], ..World::default() };
        let soon = Now::default().plus_us(9_000_000);
        assert_eq!(replaced(&world, &new, soon).unwrap().versions, "1.2 -> 1.3");
        assert_eq!(replaced(&world, &new, soon.plus_us(REPLACED_US)), None);
    }

    #[test]
    fn a_process_takes_the_place_of_one_that_died() {
        let died = |id, at_us| {
            let mut old = target(id, "1", 0);
            old.started_us = Some(u64::from(id));
            old.link = Link::Gone { at_us, farewell: Farewell::Unsaid };
            old
        };
        let up = |id, started_us| {
            let mut peer = target(id, "1", 0);
            peer.started_us = Some(started_us);
            peer
        };
        let taken = |targets: Vec<Target>| -> Vec<(u32, u32)> {
            let world = World { targets, ..World::default() };
            successors(&world).into_iter().map(|(old, new)| (old.0, new.id.0)).collect()
        };
        // Started after the death, or shortly before it; an old replica takes nobody's place.
        assert_eq!(taken(vec![died(1, 90_000_000), up(2, 95_000_000)]), [(1, 2)]);
        assert_eq!(taken(vec![died(1, 90_000_000), up(2, 70_000_000)]), [(1, 2)]);
        assert_eq!(taken(vec![died(1, 90_000_000), up(2, 50_000_000)]), []);
        // All started together a moment ago and one crashes: nobody took its place.
        let mut young = died(1, 90_000_000);
        young.started_us = Some(80_000_000);
        assert_eq!(taken(vec![young, up(2, 80_001_000)]), []);
        // Two died and one came: one is still missing.
        assert_eq!(taken(vec![died(1, 90_000_000), died(2, 91_000_000), up(3, 95_000_000)]), [(1, 3)]);
        // Restarted again and again: each death is matched with its own successor.
        let mut second = died(2, 99_000_000);
        second.started_us = Some(91_000_000);
        let mut third = died(3, 110_000_000);
        third.started_us = Some(100_000_000);
        assert_eq!(taken(vec![died(1, 90_000_000), second, third, up(4, 111_000_000)]), [(1, 2), (2, 3), (3, 4)]);
        let mut silent = up(2, 95_000_000);
        silent.link = Link::Silent { since_us: 96_000_000 };
        assert_eq!(taken(vec![died(1, 90_000_000), silent]), []);
    }
}
