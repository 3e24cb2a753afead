//! How time passes: who looks meanwhile, and who has waited too long.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::history::Polled;
use super::run::{Run, turns};
use super::world::World;
use crate::support::ms;

/// Timers go off at whole milliseconds of the runtime, so up to one late; two, to be safe.
const TIMER: Duration = ms(2);

/// Real time that threads need at most to end.
const PATIENCE: Duration = Duration::from_secs(20);

impl Run {
    /// Time passes, and whoever is woken looks at once.
    pub(super) async fn pass(&mut self, time: Duration) -> Result<(), String> {
        self.until(sleep_until(Instant::now() + time), Polled::Promptly).await?;
        turns().await;
        self.pump()?;
        self.nobody_waits_too_long()
    }

    /// Time passes, and nobody looks.
    pub(super) async fn idle(&mut self, time: Duration) -> Result<(), String> {
        self.until(sleep_until(Instant::now() + time), Polled::Late).await
    }

    /// Time passes until something has happened.
    async fn until(&mut self, end: impl Future<Output = ()>, polled: Polled) -> Result<(), String> {
        let told = Arc::clone(&self.told);
        let mut end = pin!(end);
        loop {
            if polled == Polled::Promptly {
                self.pump()?;
            }
            if self.world.lock().blocking == 0 {
                tokio::select! {
                    biased;
                    () = told.notified() => {}
                    () = &mut end => return Ok(()),
                }
            } else {
                // Time stands still while blocking work runs, and has to be pushed.
                tokio::select! {
                    biased;
                    () = &mut end => return Ok(()),
                    () = turns() => {}
                }
                tokio::time::advance(ms(1)).await;
            }
        }
    }

    /// S7: blocking work ends; then its permits come back, and loads that still wait for it go on.
    pub(super) async fn unblock(&mut self) -> Result<(), String> {
        let latch = Arc::clone(&self.world.lock().latch);
        let began = std::time::Instant::now();
        loop {
            // Again and again: a permit that comes back may be what more of it waited for.
            latch.let_go();
            turns().await;
            self.pump()?;
            let (blocking, running) = {
                let world = self.world.lock();
                (world.blocking, World::calls(world.running()) as u64)
            };
            let active = self.cache.snapshot().origin_active;
            if blocking == 0 && active == running {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("S7: blocking work has ended, and {active} calls are active, not {running}"));
            }
            // Its threads need a moment of real time.
            std::thread::yield_now();
        }
    }

    /// S2, S4, S7: a flight's deadline ends every wait, and so does the caller's own limit.
    fn nobody_waits_too_long(&self) -> Result<(), String> {
        let world = self.world.lock();
        for caller in &self.pending {
            let asked = &world.asks[caller.asks[0].tag];
            let whole = asked.at.elapsed();
            // W2: who finds that what it waited for is outdated waits once more, from then on.
            let wait = if world.tagged.is_empty() { whole } else { caller.polled.elapsed() };
            // B1: what of a batch had no room at first may begin until a deadline has passed.
            let deadlines = if caller.is_batch() { 2 } else { 1 };
            if wait > deadlines * world.setup.flight_deadline + TIMER
                || asked.wait.is_some_and(|limit| whole > limit + TIMER)
            {
                return Err(format!("S2: a caller still waits after {:?}: {asked:?}", asked.at.elapsed()));
            }
        }
        Ok(())
    }

    /// X1: afterwards nobody waits and nothing flies.
    pub(super) async fn shutdown(&mut self, limit: Duration) -> Result<(), String> {
        let closed = self.world.lock().tick();
        self.world.lock().closed.get_or_insert(closed);
        let (cache, began) = (self.cache.clone(), Instant::now());
        self.until(async move { cache.shutdown(limit).await }, Polled::Promptly).await?;
        if began.elapsed() > limit + TIMER {
            return Err(format!("X1: the shutdown took {:?}", began.elapsed()));
        }
        turns().await;
        self.pump()?;
        let flying = self.cache.snapshot().flights_active;
        if !self.pending.is_empty() || flying > 0 {
            return Err(format!("X1: {} callers wait for {flying} flights", self.pending.len()));
        }
        Ok(())
    }
}
