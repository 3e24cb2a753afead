//! `herdtop demo` in a real terminal: it melts when its protection is switched off, and heals.
#![cfg(all(unix, feature = "demo"))]
#![expect(clippy::unwrap_used, reason = "a failure here is a failed test")]

#[path = "support/tmux.rs"]
mod tmux;

use tmux::Tmux;

/// Starts the demonstration with a socket of its own.
fn demo(width: u16, height: u16) -> Tmux {
    let tmux = Tmux::new(width, height);
    let directory = tmux.directory.path().display().to_string();
    let program = env!("CARGO_BIN_EXE_herdtop");
    tmux.line(&format!("clear; HERDCACHE_SOCKET={directory}/ {program} demo; echo \"code=$?\""));
    tmux.wait_for("1/1 up");
    tmux
}

/// The largest number after `loads=` in the list of events: loads of one key at once.
fn parallel_loads(screen: &str) -> u64 {
    let counts = screen.split("loads=").skip(1);
    counts.filter_map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()).max().unwrap_or(0)
}

/// The part of requests that are hits, in percent.
fn hits(screen: &str) -> Option<f64> {
    let row = screen.lines().find(|line| line.contains("H hit"))?;
    row.split_whitespace().find_map(|word| word.strip_suffix('%'))?.parse().ok()
}

fn sockets(tmux: &Tmux) -> usize {
    std::fs::read_dir(tmux.directory.path()).unwrap().count()
}

#[test]
fn it_melts_as_its_help_says_and_heals_by_the_same_keys() {
    let tmux = demo(160, 45);
    // Protected: herds, each of one load.
    let calm = tmux.wait("a protected herd", |screen| screen.contains("herd_ended") && screen.contains("ticker"));
    assert_eq!(parallel_loads(&calm), 1, "{calm}");
    assert!(calm.contains("F single-flight ●") && calm.contains("P permits ●"), "{calm}");

    tmux.wait("hits", |screen| hits(screen).is_some_and(|hits| hits > 90.0));
    for key in ["F", "P", "T", "E"] {
        tmux.key(key);
    }
    tmux.wait("the measures off", |screen| screen.contains("off: single-flight"));
    tmux.wait_for("F single-flight ◌");
    tmux.wait("a melt", |screen| parallel_loads(screen) >= 100 && hits(screen).is_some_and(|hits| hits < 75.0));

    for key in ["F", "P", "T", "E"] {
        tmux.key(key);
    }
    tmux.wait("the measures on", |screen| !screen.contains("off: "));
    tmux.wait("hits again", |screen| hits(screen).is_some_and(|hits| hits > 90.0));
    tmux.wait_for("F single-flight ●");

    tmux.key("q");
    tmux.wait_for("code=0");
    tmux.assert_restored();
    assert_eq!(sockets(&tmux), 0, "the socket stays behind");
}

#[test]
fn trouble_is_made_by_keys_and_sigterm_leaves_nothing_behind() {
    let tmux = demo(100, 30);
    tmux.key("L");
    tmux.wait_for("slow origin ●");
    tmux.key("L");
    tmux.key("A");
    tmux.wait_for("slow origin ◌");
    assert_eq!(sockets(&tmux), 1);
    tmux.signal("TERM");
    tmux.wait_for("code=143");
    tmux.assert_restored();
    assert_eq!(sockets(&tmux), 0, "the socket stays behind");
}
