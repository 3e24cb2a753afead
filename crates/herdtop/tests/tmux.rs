//! The program in a real terminal, on a real feed.
#![cfg(unix)]

#[path = "support/fake.rs"]
mod fake;
#[path = "support/script.rs"]
mod script;
#[path = "support/tmux.rs"]
mod tmux;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use fake::Fake;
use herdfeed::server::Publisher;
use herdfeed::{Outcome, Snapshot};
use tmux::Tmux;

/// Figures that stand still: an idle process that has served before.
fn idle(_mono_us: u64) -> Snapshot {
    let mut snapshot = Snapshot { caches: vec![script::cache()], gates: vec![script::gate()], ..Snapshot::default() };
    snapshot.caches[0].outcomes[Outcome::Hit] = 40_000;
    snapshot
}

/// 1,000 hits a second.
fn busy(mono_us: u64) -> Snapshot {
    let mut snapshot = idle(mono_us);
    snapshot.caches[0].outcomes[Outcome::Hit] += mono_us / 1_000;
    snapshot
}

struct Scene {
    tmux: Tmux,
    process: Arc<Fake>,
    publisher: Option<Publisher>,
    socket: PathBuf,
}

fn scene(width: u16, height: u16, figures: fn(u64) -> Snapshot) -> Scene {
    let tmux = Tmux::new(width, height);
    let process = Fake::new(script::hello("shop", 4711, "boot-1"), Box::new(figures));
    let socket = tmux.file("shop-4711.sock");
    let publisher = Some(process.publish(&socket));
    Scene { tmux, process, publisher, socket }
}

impl Scene {
    fn attach(&self) {
        self.tmux.herdtop(&self.socket.display().to_string());
        self.tmux.wait_for("shop-4711");
        self.tmux.wait_for("1/1 up");
    }
}

#[test]
fn q_and_ctrl_c_restore_the_terminal() {
    let scene = scene(100, 30, busy);
    for key in ["q", "C-c"] {
        scene.attach();
        assert_eq!(scene.tmux.format("#{alternate_on} #{mouse_any_flag} #{cursor_flag}"), "1 0 0");
        scene.tmux.wait_for("1.0k req/s");
        scene.tmux.key(key);
        scene.tmux.wait_for("code=0");
        scene.tmux.assert_restored();
    }
}

#[test]
fn signals_restore_the_terminal() {
    let scene = scene(100, 30, busy);
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)] {
        scene.attach();
        scene.tmux.signal(signal);
        scene.tmux.wait_for(&format!("code={code}"));
        scene.tmux.assert_restored();
    }
}

#[test]
fn ctrl_z_gives_the_shell_back_and_fg_the_screen() {
    let scene = scene(100, 30, busy);
    scene.attach();
    for stop in ["key", "signal"] {
        if stop == "key" {
            scene.tmux.key("C-z");
        } else {
            scene.tmux.signal("TSTP");
        }
        scene.tmux.wait_for("Stopped");
        scene.tmux.assert_restored();
        scene.tmux.line("fg");
        scene.tmux.wait_for("1/1 up");
        assert_eq!(scene.tmux.format("#{alternate_on}"), "1");
        // Raw mode is back: a key acts without Enter.
        scene.tmux.key("?");
        scene.tmux.wait_for("this help");
        scene.tmux.key("Escape");
        scene.tmux.wait("closed help", |screen| !screen.contains("this help"));
    }
    scene.tmux.key("q");
    scene.tmux.assert_restored();
    // The code of a job that was stopped is told by its `fg`.
    scene.tmux.line("jobs; echo \"jobs=$?\"");
    scene.tmux.wait_for("jobs=0");
}

#[test]
fn a_panic_restores_the_terminal_and_is_told() {
    let scene = scene(100, 30, busy);
    scene.tmux.line("export HERDTOP_TEST_PANIC=1 RUST_BACKTRACE=0");
    scene.attach();
    scene.tmux.key("C-p");
    let screen = scene.tmux.wait_for("code=101");
    assert!(screen.contains("a panic was asked for"), "{screen}");
    scene.tmux.assert_restored();
}

#[test]
fn a_storm_of_resizes_ends_in_the_last_size() {
    let scene = scene(100, 30, busy);
    scene.attach();
    for (width, height) in [(30, 5), (160, 45), (1, 1), (79, 24), (200, 60), (40, 8), (60, 16), (100, 30)] {
        scene.tmux.run(&["resize-window", "-x", &width.to_string(), "-y", &height.to_string()]);
        sleep(Duration::from_millis(30));
    }
    scene.tmux.wait("whole screen", |screen| {
        screen.contains("4 Hot keys") && screen.lines().last().is_some_and(|line| line.contains("q quit"))
    });
    scene.tmux.run(&["resize-window", "-x", "38", "-y", "7"]);
    scene.tmux.wait_for("need 40x8 (is 38x7)");
    scene.tmux.run(&["resize-window", "-x", "40", "-y", "8"]);
    scene.tmux.wait_for("H hit");
    scene.tmux.key("q");
    scene.tmux.wait_for("code=0");
}

#[test]
fn a_server_that_dies_and_comes_back_is_followed() {
    let mut scene = scene(160, 45, busy);
    scene.attach();
    scene.publisher = None;
    scene.tmux.wait_for("retry");
    scene.tmux.wait_for("UNREACHABLE shop-4711");
    // Keys work while the target is away.
    scene.tmux.key("?");
    scene.tmux.wait_for("this help");
    scene.tmux.key("Escape");
    // A letter right behind Escape would be read as one key with Alt.
    scene.tmux.wait("closed help", |screen| !screen.contains("this help"));
    let again = Fake::new(script::hello("shop", 4711, "boot-2"), Box::new(busy));
    scene.publisher = Some(again.publish(&scene.socket));
    scene.process = again;
    scene.tmux.key("R");
    scene.tmux.wait_for("1/1 up");
    scene.tmux.wait_for("restarts 1");
    scene.tmux.wait_for("RESTARTED shop-4711");
    scene.tmux.key("q");
    scene.tmux.wait_for("code=0");
}

#[test]
fn found_processes_appear_and_vanish_by_themselves() {
    let scene = scene(100, 30, busy);
    let directory = scene.tmux.directory.path().display().to_string();
    scene.tmux.line(&format!("export HERDCACHE_SOCKET={directory}/"));
    scene.tmux.herdtop("");
    scene.tmux.wait_for("1/1 up");
    let second = Fake::new(script::hello("cart", 4712, "boot-1"), Box::new(busy));
    let publisher = second.publish(&scene.tmux.file("cart-4712.sock"));
    scene.tmux.wait_for("2/2 up");
    drop(publisher);
    scene.tmux.wait_for("gone");
    scene.tmux.wait_for("ENDED cart-4712");
    scene.tmux.key("q");
    scene.tmux.wait_for("code=0");
}

#[test]
fn without_a_process_it_says_where_it_looked() {
    let tmux = Tmux::new(100, 30);
    tmux.line("export XDG_RUNTIME_DIR=/nonexistent TMPDIR=/nonexistent");
    tmux.herdtop("");
    let screen = tmux.wait_for("code=3");
    assert!(screen.contains("no process with a feed was found") && screen.contains("serve_feed"), "{screen}");
    tmux.herdtop("--wait");
    tmux.wait_for("no process yet");
    tmux.key("q");
    tmux.wait_for("code=0");
}

/// A screen on an idle process writes at most 64 bytes a second.
#[test]
fn an_idle_screen_is_almost_silent() {
    const SECONDS: u64 = 6;
    let scene = scene(160, 45, idle);
    scene.attach();
    sleep(Duration::from_millis(1_500));
    let log = scene.tmux.file("bytes");
    scene.tmux.run(&["pipe-pane", "-o", &format!("cat > {}", log.display())]);
    sleep(Duration::from_secs(SECONDS));
    scene.tmux.run(&["pipe-pane"]);
    let bytes = std::fs::read(&log).unwrap();
    assert!(!bytes.is_empty(), "not even the clock was drawn");
    eprintln!("{} bytes in {SECONDS} s", bytes.len());
    // The span is measured by sleeping: one second more allows for a late start or end.
    let limit = usize::try_from(64 * (SECONDS + 1)).unwrap();
    assert!(
        bytes.len() <= limit,
        "{} bytes in {SECONDS} s: {}",
        bytes.len(),
        String::from_utf8_lossy(&bytes).escape_debug()
    );
    scene.tmux.key("q");
    scene.tmux.wait_for("code=0");
}

/// P2: what a process sends never reaches the terminal as an escape sequence.
#[test]
fn p2_hostile_keys_do_not_move_the_cursor() {
    let scene = scene(100, 30, |mono_us| {
        let mut snapshot = busy(mono_us);
        let keys = script::hostile_keys();
        snapshot.caches[0].hot = keys.iter().zip(1..).map(|(key, n)| script::hot(key, 1_000 / n, 0.1)).collect();
        snapshot
    });
    let log = scene.tmux.file("bytes");
    scene.tmux.run(&["pipe-pane", "-o", &format!("cat > {}", log.display())]);
    scene.attach();
    scene.tmux.key("4");
    scene.tmux.key("G");
    let screen = scene.tmux.wait_for("x\u{fffd}\u{fffd}y");
    assert!(screen.contains("1 Outcomes"), "{screen}");
    scene.tmux.key("q");
    scene.tmux.wait_for("code=0");
    let bytes = String::from_utf8_lossy(&std::fs::read(&log).unwrap()).into_owned();
    assert!(!bytes.contains("]0;title\u{7}") && !bytes.contains("\u{9b}31m"));
}
