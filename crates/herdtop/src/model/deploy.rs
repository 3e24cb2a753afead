//! What only the sight over several processes shows: drift of settings, and a
//! process that takes another one's place.

use std::collections::BTreeMap;

use serde_json::Value;

use super::World;
use super::target::{Link, Restart, Target, versions};
use crate::clock::Now;

/// A process that came this soon after another of its service ended has replaced it.
const REPLACED_US: u64 = 30_000_000;

/// The settings in which `target` differs from most processes of its service, by name.
pub fn drift(world: &World, target: &Target) -> Vec<String> {
    let Some(service) = target.service() else {
        return Vec::new();
    };
    let peers: Vec<BTreeMap<String, String>> =
        world.targets.iter().filter(|peer| peer.service() == Some(service)).map(settings).collect();
    if peers.len() < 2 {
        return Vec::new();
    }
    settings(target)
        .into_iter()
        .filter(|(name, mine)| usual(&peers, name).is_some_and(|usual| usual != *mine))
        .map(|(name, _)| name)
        .collect()
}

/// The most frequent value of a setting; among equals that of the first process.
fn usual(peers: &[BTreeMap<String, String>], name: &str) -> Option<String> {
    let values: Vec<&String> = peers.iter().filter_map(|peer| peer.get(name)).collect();
    let count = |value: &String| values.iter().filter(|other| **other == value).count();
    let mut best: Option<&String> = None;
    for value in &values {
        if best.is_none_or(|best| count(value) > count(best)) {
            best = Some(value);
        }
    }
    best.cloned()
}

/// Every setting of a process as `users.stale_ms` and its value.
fn settings(target: &Target) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let Some(hello) = &target.hello else { return all };
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
        Link::Gone { at_us } => Some(at_us),
        // A socket may outlive its process for a moment: its last word counts.
        Link::Waiting { .. } => target.recent.newest().map(|newest| newest.at_us),
        Link::Connecting | Link::Up => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::msg::TargetId;
    use herdfeed::{CacheConfig, Clock, Hello, Process};

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
        assert_eq!(drift(&world, &world.targets[0]), ["users.stale_ms"]);
        assert!(drift(&world, &world.targets[1]).is_empty());
    }

    #[test]
    fn a_process_that_follows_an_ended_one_replaces_it() {
        let mut old = target(1, "1.2", 0);
        old.link = Link::Gone { at_us: 5_000_000 };
        let new = target(2, "1.3", 0);
        let world = World { targets: vec![old, new.clone()], ..World::default() };
        let soon = Now::default().plus_us(9_000_000);
        assert_eq!(replaced(&world, &new, soon).unwrap().versions, "1.2 -> 1.3");
        assert_eq!(replaced(&world, &new, soon.plus_us(REPLACED_US)), None);
    }
}
