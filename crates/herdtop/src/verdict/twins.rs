//! Caches of one process that were given one name. The engine numbers all but the first: `users`, `users~2`.

use std::collections::BTreeMap;

use herdfeed::Severity;

use super::{Finding, Kind};
use crate::model::Target;

/// One finding for each name that several live caches of this process were given.
pub(super) fn judge(target: &Target) -> Vec<Finding> {
    let mut given: BTreeMap<&str, u64> = BTreeMap::new();
    for cache in target.caches() {
        *given.entry(as_given(&cache.name)).or_default() += 1;
    }
    let twins = given.into_iter().filter(|(_, caches)| *caches > 1);
    twins.map(|(name, caches)| finding(target, name, caches)).collect()
}

fn finding(target: &Target, name: &str, caches: u64) -> Finding {
    Finding::new(Kind::DuplicateName, Severity::Warn, name, &target.name)
        .what(format!("{caches} live caches were given the name {name}"), caches)
        .why("they share no value and no load")
        .cure("build the cache once and clone its handle, not one per request")
}

/// A name without the number that the engine added: an application can give none that has a `~`.
fn as_given(name: &str) -> &str {
    match name.rsplit_once('~') {
        Some((given, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => given,
        _ => name,
    }
}
