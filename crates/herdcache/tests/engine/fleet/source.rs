//! What the processes load from: a number for each key, read when a load begins.

use std::sync::Arc;

use herdcache::{LoadContext, Loaded, Origin};
use tokio::time::sleep;

use super::steps::Mode;
use super::world::{Running, Shared, brings};
use crate::support::DbError;

/// One process's way to the source.
pub(super) struct Source {
    pub(super) world: Shared,
    pub(super) process: usize,
}

impl Source {
    /// One call for these keys: what it read as it began.
    async fn call(&self, keys: &[u64]) -> Result<Vec<(u64, Loaded<u64>)>, DbError> {
        let running = Running::begin(&self.world, self.process, keys);
        let modes: Vec<Mode> =
            { keys.iter().map(|key| self.world.lock().modes[usize::try_from(*key).unwrap()]).collect() };
        for mode in modes {
            match mode {
                Mode::After(time) => sleep(time).await,
                Mode::Fails => return Err(DbError("down")),
                Mode::Hangs => std::future::pending().await,
            }
        }
        let versions = self.world.lock().setup.versions;
        Ok(running.read().map(|(key, value)| (key, brings(value, versions))).collect())
    }
}

impl Origin<u64, u64> for Source {
    type Error = DbError;
    const MAX_BATCH: usize = 2;

    async fn load(&self, cx: LoadContext<u64, u64>) -> Result<Loaded<u64>, DbError> {
        let mut reply = self.call(&[*cx.key()]).await?;
        Ok(reply.remove(0).1)
    }

    async fn load_many(&self, contexts: Vec<LoadContext<u64, u64>>) -> Result<Vec<(u64, Loaded<u64>)>, DbError> {
        self.call(&contexts.iter().map(|cx| *cx.key()).collect::<Vec<_>>()).await
    }
}

impl Source {
    pub(super) fn new(world: &Shared, process: usize) -> Self {
        Self { world: Arc::clone(world), process }
    }
}
