//! A terminal for end-to-end tests: a tmux of its own with one shell in it.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each test file uses a part of it, and a failure here is a failed test"
)]

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest wait for anything on the screen.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Tmux {
    server: String,
    pub(crate) directory: tempfile::TempDir,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Tmux {
    /// A shell in a terminal of this size.
    pub(crate) fn new(width: u16, height: u16) -> Self {
        assert!(Command::new("tmux").arg("-V").output().is_ok(), "tmux is missing: apt-get install tmux");
        let server = format!("herdtop-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let tmux = Self { server, directory: tempfile::tempdir().unwrap() };
        let (width, height) = (width.to_string(), height.to_string());
        // A plain shell with job control and a prompt that a test can wait for.
        let shell = "env -u NO_COLOR PS1='ready> ' TERM=screen-256color HERDCACHE_SOCKET=/nonexistent/ bash --norc --noprofile -i";
        tmux.run(&["new-session", "-d", "-x", &width, "-y", &height, shell]);
        tmux.wait_for("ready>");
        tmux
    }

    pub(crate) fn run(&self, words: &[&str]) -> String {
        let output = Command::new("tmux").args(["-L", &self.server, "-f", "/dev/null"]).args(words).output().unwrap();
        assert!(output.status.success(), "tmux {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Types a line into the shell.
    pub(crate) fn line(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
        self.run(&["send-keys", "Enter"]);
    }

    /// Presses a key by its tmux name.
    pub(crate) fn key(&self, name: &str) {
        self.run(&["send-keys", name]);
    }

    /// Starts herdtop with these words after it.
    pub(crate) fn herdtop(&self, words: &str) {
        self.line(&format!("clear; {} {words}; echo \"code=$?\"", env!("CARGO_BIN_EXE_herdtop")));
    }

    pub(crate) fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Waits until the screen satisfies `is`.
    pub(crate) fn wait(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if is(&screen) {
                return screen;
            }
            assert!(start.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}:\n{screen}");
            sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn wait_for(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// A format of the pane, as `#{alternate_on}`.
    pub(crate) fn format(&self, format: &str) -> String {
        self.run(&["display-message", "-p", format]).trim().to_owned()
    }

    /// The terminal is as it was: no alternate screen, no mouse, a visible cursor, echo and line mode.
    pub(crate) fn assert_restored(&self) {
        self.wait("end of the alternate screen", |_| self.format("#{alternate_on}") == "0");
        assert_eq!(self.format("#{mouse_any_flag} #{cursor_flag}"), "0 1");
        self.line("stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e icanon -e isig | tr '\\n' '+'; echo end");
        self.wait_for("isig+icanon+echo+end");
    }

    /// The process id of herdtop in this terminal.
    pub(crate) fn pid(&self) -> u32 {
        let shell = self.format("#{pane_pid}");
        let output = Command::new("ps").args(["-o", "pid=", "--ppid", &shell]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // A test that failed leaves its terminal behind otherwise.
        drop(Command::new("tmux").args(["-L", &self.server, "kill-server"]).output());
    }
}
