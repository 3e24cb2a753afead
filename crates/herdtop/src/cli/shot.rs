//! `herdtop picture`: the screen of running processes as a file for documents.

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;

use super::{Failed, failed};
use crate::link::Links;
use crate::link::mailbox::Mailbox;
use crate::model::{Colors, Look, Model};
use crate::msg::Msg;
use crate::targets::Targets;
use crate::{clock, picture, update};

/// How to draw it.
#[derive(Debug, clap::Args)]
pub(super) struct PictureArgs {
    /// Socket path, http://HOST:PORT, or process id
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Text instead of SVG
    #[arg(long)]
    text: bool,
    /// Columns
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=400))]
    width: u16,
    /// Rows
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=200))]
    height: u16,
    /// Watch for so many seconds first
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    after: u64,
}

pub(super) fn run(args: &PictureArgs) -> Result<ExitCode, Failed> {
    let targets = Targets::parse(&args.targets)?;
    targets.addresses()?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
    let mailbox = Arc::new(Mailbox::default());
    let links = Links::start(runtime.handle(), &targets, None, &mailbox);
    let mut model = Model { look: Look { colors: Colors::True, ..Look::default() }, ..Model::default() };
    runtime.block_on(watch(&mut model, &mailbox, Duration::from_secs(args.after)));
    drop(links);
    let picture = if args.text {
        picture::text(&model, args.width, args.height)
    } else {
        picture::svg(&model, args.width, args.height)
    };
    io::stdout().write_all(picture.as_bytes()).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

async fn watch(model: &mut Model, mailbox: &Mailbox, length: Duration) {
    let mut left = tokio::time::interval(Duration::from_millis(100));
    for _ in 0..=length.as_millis() / 100 {
        left.tick().await;
        update::update(model, Msg::Tick(clock::read()));
        for msg in mailbox.take() {
            update::update(model, msg);
        }
        update::settle(model);
    }
}
