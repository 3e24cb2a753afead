//! What shuttle has tried in many orders: the engine whole, with tasks, cancellation and limits.
//!
//! Empty unless built with `--cfg herd_shuttle`, which puts shuttle's locks, atomics,
//! channels and tasks into the very files that ship, a clock that a story moves by
//! hand, and a plain map where moka is, unless `HERDCACHE_STORE` names a real store. Each story runs under thousands of random
//! schedules, and under as many that bound their preemptions (PCT). A schedule that
//! fails is printed: `HERD_REPLAY='…' scripts/models shuttle STORY` runs it again.
#![cfg(herd_shuttle)]
#![allow(clippy::unwrap_used, reason = "a panic is how a story fails")]

mod callers;
mod changes;
mod ends;
mod explore;
mod gates;
mod world;
