//! What an interrupt leaves behind: nothing.
//!
//! Files that are not whole yet are removed, and the exit code is what a shell expects of it.

use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::pin::pin;
use std::process;
use std::sync::mpsc;
use std::task::Poll;

use super::output;

/// 128 and the number of the signal.
const CODE: i32 = 130;

/// Waits for an interrupt on a thread of its own, from now on and for as long as the program runs. Where that cannot be had, an
/// interrupt ends the program as ever, and may leave a file with `.part` in its name.
pub(super) fn watch() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let (ready, begun) = mpsc::channel();
    let watching = std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        let interrupted = runtime.block_on(async {
            let mut interrupt = pin!(tokio::signal::ctrl_c());
            // It is heeded from its first poll on, and nothing is written before that.
            let first = poll_fn(|cx| Poll::Ready(interrupt.as_mut().poll(cx))).await;
            let _ = ready.send(());
            if let Poll::Ready(at_once) = first { at_once } else { interrupt.await }
        });
        if interrupted.is_ok() {
            output::remove_parts();
            let _ = writeln!(io::stderr(), "\nherdlab: interrupted; nothing was written");
            process::exit(CODE);
        }
    });
    if watching.is_ok() {
        let _ = begun.recv();
    }
}
