//! Where a run took place: figures from two machines are not comparable unseen.

use std::fmt;

use serde::Serialize;

/// The machine of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Operating system.
    pub os: &'static str,
    /// Processor architecture.
    pub arch: &'static str,
    /// Processors that this process may use.
    pub cores: u64,
    /// The lab that ran, as `herdlab 0.1.0`.
    pub lab: &'static str,
    /// Whether the program was built with optimisation.
    pub build: &'static str,
}

impl Machine {
    /// This one.
    pub fn this() -> Self {
        Self {
            os: std::env::consts::OS,
            arch: std::env::consts::ARCH,
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
            lab: concat!("herdlab ", env!("CARGO_PKG_VERSION")),
            build: if cfg!(debug_assertions) { "debug" } else { "release" },
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}), {} {}, {} processors", self.lab, self.build, self.os, self.arch, self.cores)
    }
}
