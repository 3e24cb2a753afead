//! The shops: one for each trouble, one that is well, one that nobody asks anything.

use std::path::Path;

use crate::children::{Process, free_port};

/// One shop and who asks it.
pub(crate) struct Member {
    /// Its job in Prometheus.
    pub(crate) job: &'static str,
    /// What it is told at its start.
    serve: &'static [&'static str],
    /// What its load generator is told, if it has one.
    load: &'static [&'static str],
    /// The alerts that its trouble is for.
    pub(crate) alerts: &'static [&'static str],
    /// Whether nothing else may come, not even for a moment.
    pub(crate) well: bool,
}

/// Everything short, so that a minute holds many expiries.
pub(crate) const FLEET: &[Member] = &[
    Member {
        job: "failing",
        serve: &[
            "--failing-origin",
            "0.4",
            "--slow-origin",
            "20ms",
            "--capacity",
            "60",
            "--fresh",
            "1s",
            "--hot-fresh",
            "1s",
            // Two failed loads of the hot key, one in six of its expiries, bring its stale answers close to their bound.
            "--stale-for",
            "300ms",
        ],
        load: &["--rate", "120", "--keys", "150", "--hot-share", "0.4"],
        alerts: &[
            "HerdcacheAvailabilityBurnFast",
            "HerdcacheAvailabilityBurnSlow",
            "HerdcacheCallsPerLoadHigh",
            "HerdcacheRefreshesFailing",
            "HerdcacheStaleNearBound",
        ],
        well: false,
    },
    Member {
        job: "down",
        serve: &["--failing-origin", "1"],
        load: &["--rate", "40", "--keys", "150"],
        alerts: &["HerdcacheAvailabilityBurnFast", "HerdcacheRejecting", "HerdcacheCircuitOpen"],
        well: false,
    },
    Member {
        job: "herd",
        serve: &["--hot-fresh", "1s", "--slow-origin", "100ms"],
        load: &["--rate", "350", "--keys", "1", "--hot-share", "1", "--orders-rate", "0"],
        alerts: &["HerdcacheWaitersPerLeaderHigh", "HerdcacheHotKey"],
        well: false,
    },
    Member {
        job: "tight",
        serve: &["--permits", "2", "--queue", "8", "--slow-origin", "150ms", "--fresh", "1s"],
        load: &["--rate", "60", "--keys", "500", "--zipf", "0", "--hot-share", "0"],
        alerts: &["HerdcacheRejecting", "HerdcachePermitsExhausted", "HerdcacheAvailabilityBurnFast"],
        well: false,
    },
    Member {
        job: "shared-down",
        serve: &["--shared", "--failing-shared", "connection", "--fresh", "1s", "--hot-fresh", "1s"],
        load: &["--rate", "40", "--keys", "150"],
        alerts: &["HerdcacheConnectionErrorBurn", "HerdcacheSharedWritesFailing", "HerdcacheCircuitOpen"],
        well: false,
    },
    Member {
        job: "leases",
        serve: &[
            "--shared",
            "--failing-shared",
            "loses-leases",
            "--slow-origin",
            "750ms",
            "--origin-timeout",
            "1s",
            "--fresh",
            "1s",
        ],
        load: &["--rate", "20", "--keys", "150", "--hot-share", "0"],
        alerts: &["HerdcacheLeasesLost"],
        well: false,
    },
    Member {
        job: "well",
        serve: &["--shared", "--capacity", "100", "--fresh", "5s", "--hot-fresh", "5s", "--stale-for", "20s"],
        load: &["--rate", "40", "--keys", "300", "--hot-share", "0.05"],
        alerts: &[],
        well: true,
    },
    Member { job: "idle", serve: &[], load: &[], alerts: &[], well: true },
];

/// The fleet while it runs.
pub(crate) struct Running {
    /// Job and address of its metrics.
    pub(crate) targets: Vec<(String, String)>,
    /// Job and address of the shop.
    shops: Vec<(&'static str, String)>,
    /// They end when this is dropped.
    processes: Vec<Process>,
}

impl Running {
    /// Starts every shop, its load, and an exporter that tells of the machine.
    pub(crate) fn start(folder: &Path) -> Self {
        let shop = env!("CARGO_BIN_EXE_shop");
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut this = Self { targets: Vec::new(), shops: Vec::new(), processes: Vec::new() };
        // They share one file, which the first creates.
        let database = folder.join("shop.db").display().to_string();
        for member in FLEET {
            let mut args = words(&[
                "serve",
                "--addr",
                "127.0.0.1:0",
                "--prometheus",
                "127.0.0.1:0",
                "--products",
                "800",
                "--db",
                &database,
            ]);
            args.extend(words(member.serve));
            let mut server = Process::start(shop, &args);
            let said = server.lines_until("shop: metrics at");
            let address =
                |line: &str| line.split("http://").nth(1).unwrap().split(['/', ' ']).next().unwrap().to_owned();
            this.shops.push((member.job, address(&said[0])));
            this.targets.push((member.job.to_owned(), address(said.last().unwrap())));
            this.processes.push(server);
            if !member.load.is_empty() {
                let url = format!("http://{}", address(&said[0]));
                let mut args = words(&["load", "--url", &url, "--for", "4m", "--expect-errors", "--json"]);
                args.extend(words(member.load));
                this.processes.push(Process::start(shop, &args));
            }
        }
        let exporter = format!("127.0.0.1:{}", free_port());
        this.processes.push(Process::start("prometheus-node-exporter", &[format!("--web.listen-address={exporter}")]));
        this.targets.push(("database".to_owned(), exporter));
        this
    }

    /// Where a shop listens.
    pub(crate) fn shop(&self, job: &str) -> &str {
        &self.shops.iter().find(|(name, _)| *name == job).unwrap().1
    }
}
