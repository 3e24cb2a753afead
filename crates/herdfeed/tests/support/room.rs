//! A directory of one test's own, and publishers in it.

use std::path::PathBuf;
use std::sync::Arc;

use herdfeed::server::{Listen, Publisher, Source};
use herdfeed::{Address, Token};

/// A private directory that is removed when dropped.
pub(crate) struct Room(PathBuf);

impl Room {
    /// An empty directory named for the test.
    pub(crate) fn new(name: &str) -> Self {
        use std::os::unix::fs::DirBuilderExt;
        let directory = std::env::temp_dir().join(format!("herdfeed-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::DirBuilder::new().mode(0o755).create(&directory).unwrap();
        Self(directory)
    }

    /// A path within.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A publisher on a socket within.
    pub(crate) fn publisher(&self, name: &str, source: Arc<dyn Source>) -> Publisher {
        Publisher::start(Listen::Unix(self.path(name)), source).unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A free port of this machine.
pub(crate) fn loopback(token: Option<Token>) -> Listen {
    Listen::Tcp { address: ([127, 0, 0, 1], 0).into(), token }
}

/// Where the publisher listens.
pub(crate) fn at(publisher: &Publisher) -> &Address {
    publisher.address().expect("it listens")
}
