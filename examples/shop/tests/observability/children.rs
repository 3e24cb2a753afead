//! Processes that end with the test, whatever becomes of it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that lives for five minutes at most, even where nobody is left to stop it.
const LIFETIME: &str = "300s";

/// A running process; ended when dropped.
pub(crate) struct Process {
    /// `timeout`, which passes a signal on to the program itself.
    child: Child,
}

impl Process {
    /// Starts a program, whose standard output is piped.
    pub(crate) fn start(program: &str, args: &[String]) -> Self {
        Self::start_told(program, args, &[], Path::new("/dev/null"))
    }

    /// The same with variables in its environment, and its complaints in a file.
    pub(crate) fn start_told(program: &str, args: &[String], told: &[(&str, &str)], complaints: &Path) -> Self {
        let child = Command::new("timeout")
            .args(["--kill-after=30s", LIFETIME, program])
            .args(args)
            .env("HERDCACHE_FEED", "off")
            .envs(told.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(complaints).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("timeout {program}: {error}"));
        Self { child }
    }

    /// Its first lines, until one begins with `last`.
    pub(crate) fn lines_until(&mut self, last: &str) -> Vec<String> {
        let mut lines = Vec::new();
        for line in BufReader::new(self.child.stdout.as_mut().unwrap()).lines() {
            lines.push(line.unwrap());
            if lines.last().unwrap().starts_with(last) {
                return lines;
            }
        }
        panic!("it ended without saying {last:?}: {lines:?}");
    }

    /// Tells it to end.
    pub(crate) fn terminate(&self) {
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).stderr(Stdio::null()).status();
    }

    /// Whether it has ended, and with which code.
    pub(crate) fn wait(&mut self, most: Duration) -> Option<i32> {
        let until = Instant::now() + most;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_some() {
            return;
        }
        self.terminate();
        if self.wait(Duration::from_secs(10)).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
