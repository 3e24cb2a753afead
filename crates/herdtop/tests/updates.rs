//! What messages do to the model: keys, pausing, restarts, losses.

#[path = "support/script.rs"]
mod script;

use herdfeed::{Fact, Outcome, Severity};
use herdtop::model::{Link, Mode, Page, Panel};
use herdtop::msg::{Farewell, Feed, TargetId};
use herdtop::rows::{self, RowId};
use herdtop::update::update;
use herdtop::verdict::Kind;
use herdtop::{Command, ControlBinding, ControlState, Key, Model, Msg, Now};
use proptest::prelude::*;
use script::{Script, everyday};

fn totals(script: &Script) -> Vec<u64> {
    script.model.live.targets.iter().map(|target| target.totals.outcomes.total()).collect()
}

#[test]
fn a_restart_is_marked_and_re_bases() {
    let mut script = script::calm();
    assert_eq!(totals(&script), [48_000, 48_000]);
    script.services[0].hello = script::hello("api", 101, "boot-2");
    script.services[0].hello.process.app_version = Some("1.5.0".into());
    script.services[0].snapshot.mono_us = 1_000_000;
    script.services[0].snapshot.caches = vec![script::cache()];
    let hello = script.services[0].hello.clone();
    script.feed(0, Feed::Hello(Box::new(hello)));
    script.tell(0);
    assert_eq!(totals(&script), [48_000, 48_000]);
    script.pass(4, everyday);
    assert_eq!(totals(&script), [52_000, 52_000]);
    let restarted = script.model.findings.iter().find(|f| f.kind == Kind::Restarted).unwrap();
    assert_eq!((restarted.subject.as_str(), restarted.what.as_str()), ("api-101", "deploy 1.4.0 -> 1.5.0"));
    let text = script.text(160, 45);
    assert!(text.contains("restarts 1") && text.contains("restarted counters start anew 1.4.0 -> 1.5.0"), "{text}");
    script.pass(124, everyday);
    assert!(script.model.findings.iter().all(|f| f.kind != Kind::Restarted));
}

#[test]
fn pausing_holds_the_picture_and_takes_everything_in() {
    let mut script = script::calm();
    script.press(" ");
    let held = script.text(100, 30);
    script.pass(8, everyday);
    let later = script.text(100, 30);
    assert!(later.contains("‖ PAUSED +16 frames"), "{later}");
    let body = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&held), body(&later));
    assert_eq!(totals(&script), [56_000, 56_000]);
    script.press(" ");
    assert!(script.text(100, 30).contains("● LIVE"));
}

#[test]
fn the_selection_follows_the_row_and_not_its_place() {
    let mut script = script::calm();
    script.press("4jj");
    let selected = |script: &Script| script.model.cursor(Panel::Keys).selected;
    let second = RowId::Key { cache: "users".into(), key: "feed:home".into() };
    assert_eq!(selected(&script), Some(second.clone()));
    // The selected key becomes the hottest; order is renewed after its hold.
    script.pass(12, |snapshot| {
        snapshot.caches[0].hot = vec![script::hot("feed:home", 9_000, 0.5), script::hot("user:42", 10, 0.1)];
    });
    assert_eq!(rows::ids(&script.model, Panel::Keys)[0], second);
    assert_eq!(selected(&script), Some(second.clone()));
    script.send(Msg::Key(Key::Enter));
    assert!(matches!(&script.model.mode, Mode::Page { page: Page::Detail(id), .. } if *id == second));
}

#[test]
fn rows_keep_their_order_for_a_moment() {
    let mut script = script::calm();
    let first = |script: &Script| rows::ids(&script.model, Panel::Keys)[0].clone();
    let before = first(&script);
    script.pass(1, |snapshot| {
        snapshot.caches[0].hot = vec![script::hot("feed:home", 9_000, 0.5), script::hot("user:42", 10, 0.1)];
    });
    assert_eq!(first(&script), before);
    script.pass(8, |_| {});
    assert_ne!(first(&script), before);
    script.press("4sss");
    assert_eq!(rows::SortKey::Age, script.model.cursor(Panel::Keys).sort);
}

#[test]
fn a_filter_works_while_typed_and_esc_brings_the_old_one_back() {
    let mut script = script::calm();
    script.press("/feed");
    assert_eq!(rows::ids(&script.model, Panel::Keys).len(), 1);
    script.send(Msg::Key(Key::Enter));
    script.press("/");
    script.send(Msg::Key(Key::Ctrl('w')));
    script.press("w>x");
    // What is not understood leaves the last good one at work and the line open.
    script.send(Msg::Key(Key::Enter));
    assert!(matches!(script.model.mode, Mode::Typing { .. }));
    script.send(Msg::Key(Key::Esc));
    assert_eq!(script.model.filter.text(), "feed");
    script.send(Msg::Key(Key::Esc));
    assert!(script.model.filter.is_empty());
}

#[test]
fn pasted_text_is_no_command() {
    let mut script = script::calm();
    assert_eq!(update(&mut script.model, Msg::Paste("q\u{3}/x".into())), None);
    assert_eq!(script.model.mode, Mode::Browse);
    script.press("/");
    script.send(Msg::Paste("us\u{1b}er\n:42".into()));
    assert_eq!(script.model.filter.text(), "user:42");
}

#[test]
fn keys_give_commands_and_quit_works_everywhere() {
    let mut script = script::calm();
    let press = |script: &mut Script, key| update(&mut script.model, Msg::Key(key));
    for (key, command) in [
        (Key::Char('q'), Command::Quit),
        (Key::Ctrl('c'), Command::Quit),
        (Key::Ctrl('z'), Command::Suspend),
        (Key::Ctrl('l'), Command::Repaint),
        (Key::Char('R'), Command::Retry),
    ] {
        assert_eq!(press(&mut script, key), Some(command));
    }
    for opener in ['?', 'w', '/'] {
        press(&mut script, Key::Char(opener));
        assert_eq!(press(&mut script, Key::Ctrl('c')), Some(Command::Quit), "{opener}");
        assert_eq!(press(&mut script, Key::Esc), None);
        assert_eq!(script.model.mode, Mode::Browse);
    }
}

#[test]
fn extra_keys_are_handed_over_only_while_browsing() {
    let mut script = script::calm();
    let control = ControlBinding { key: 'F', label: "single-flight".into(), state: ControlState::On };
    script.send(Msg::Controls(vec![control]));
    assert_eq!(update(&mut script.model, Msg::Key(Key::Char('F'))), Some(Command::Control('F')));
    script.press("/");
    assert_eq!(update(&mut script.model, Msg::Key(Key::Char('F'))), None);
    assert_eq!(script.model.filter.text(), "F");
}

#[test]
fn findings_are_walked_with_n_and_a_chosen_one_stays_chosen() {
    let mut script = script::stampede();
    assert_eq!(script.model.findings.len(), 3);
    script.press("n");
    let chosen = script.model.findings[script.model.finding].kind;
    script.pass(4, everyday);
    assert_eq!(script.model.findings[script.model.finding].kind, chosen);
    script.press("nn");
    assert_eq!(script.model.finding, 0);
    script.press("N");
    assert_eq!(script.model.finding, 2);
}

#[test]
fn a_countdown_runs_and_a_vain_try_is_not_told_twice() {
    let mut script = script::disconnected();
    assert!(script.text(100, 30).contains("retry in 3s"));
    let told = script.model.live.log.entries().count();
    script.feed(0, Feed::Connecting);
    let retry_at_us = script.model.now.mono_us + 5_000_000;
    script.feed(0, Feed::Down { why: "again".into(), retry_at_us });
    assert_eq!(script.model.live.log.entries().count(), told);
    assert!(script.text(100, 30).contains("retry in 5s"));
}

#[test]
fn a_process_that_died_is_told_from_one_that_said_goodbye() {
    for (farewell, kind, severity) in
        [(Farewell::Said, Kind::Ended, Severity::Info), (Farewell::Unsaid, Kind::Died, Severity::Warn)]
    {
        let mut script = script::calm();
        script.feed(1, Feed::Gone(farewell));
        script.silence(1_000_000);
        let told: Vec<_> = script.model.findings.iter().map(|f| (f.kind, f.severity)).collect();
        assert!(told.contains(&(kind, severity)), "{farewell:?}: {told:?}");
    }
}

#[test]
fn a_process_that_is_gone_is_forgotten_after_a_while() {
    let mut script = script::calm();
    script.feed(1, Feed::Gone(Farewell::Said));
    script.pass(0, |_| {});
    script.silence(1_000_000);
    assert!(matches!(script.model.live.targets[1].link, Link::Gone { .. }));
    assert!(script.model.findings.iter().any(|f| f.kind == Kind::Ended));
    script.silence(30_000_000);
    assert_eq!(script.model.live.targets.len(), 1);
}

#[test]
fn losses_are_on_screen() {
    let mut script = script::calm();
    script.feed(0, Feed::Lag { missed: 17 });
    script.feed(1, Feed::BadLines(2));
    script.send(Msg::Dropped { snapshots: 3, events: 4 });
    assert!(script.text(100, 30).lines().next().unwrap().contains("drop 3 frames, 21 events, 2 bad lines"));
}

#[test]
fn a_late_feed_is_on_screen_and_a_silent_one_is_not_up() {
    let mut script = script::calm();
    assert!(!script.text(100, 30).contains("lag"));
    script.silence(1_500_000);
    let late = script.text(100, 30);
    assert!(late.contains("2/2 up  lag 1.50s api-10") && late.contains("late 1.50s"), "{late}");
    assert!(late.contains("8.0k req/s"), "{late}");
    assert_eq!(script.model.findings, []);

    script.silence(2_700_000);
    let silent = script.text(100, 30);
    assert!(silent.contains("0/2 up  lag 4.20s api-10") && silent.contains("silent 4s"), "{silent}");
    assert!(!silent.contains("8.0k req/s") && !silent.contains("4.0k"), "what it said last is not now: {silent}");
    let told: Vec<_> = script.model.findings.iter().map(|f| (f.kind, f.severity, f.what.as_str())).collect();
    assert_eq!(told, [(Kind::Silent, Severity::Warn, "no word for 4s"); 2]);
}

/// One of two falls silent: the sums hold the other only, until it speaks again.
#[test]
fn a_silent_process_is_not_summed_and_comes_back() {
    let mut script = script::calm();
    let hold = |script: &mut Script| {
        for _ in 0..12 {
            script.silence(250_000);
            everyday(&mut script.services[1].snapshot);
            script.services[1].snapshot.mono_us += 250_000;
            script.tell(1);
        }
    };
    hold(&mut script);
    let text = script.text(100, 30);
    assert!(text.contains("1/2 up") && text.contains(" 4.0k req/s"), "{text}");
    assert!(!text.contains("db api-101"), "its gate is not counted: {text}");
    script.services[0].snapshot.mono_us += 3_000_000;
    script.tell(0);
    script.pass(12, everyday);
    let text = script.text(100, 30);
    assert!(text.contains("2/2 up") && text.contains("8.0k req/s"), "{text}");
    let told: Vec<String> =
        script.model.live.log.entries().map(rows::events::told).map(|t| format!("{} {}", t.kind, t.figures)).collect();
    assert!(told.iter().any(|line| line.starts_with("silent ")), "{told:?}");
    assert!(told.contains(&"heard again after 3s".to_owned()), "{told:?}");
}

#[test]
fn a_held_picture_falls_not_silent_and_a_program_that_slept_blames_nobody() {
    let mut script = script::calm();
    script.press(" ");
    let held = script.text(100, 30);
    script.silence(9_000_000);
    let body = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(&held), body(&script.text(100, 30)));
    assert!(script.text(100, 30).contains("2/2 up"));
    script.press(" ");
    assert!(script.text(100, 30).contains("0/2 up"), "live they are silent");

    let mut script = script::calm();
    script.sleep(script.model.now.plus_us(60_000_000));
    assert_eq!(script.model.findings, []);
    assert!(script.text(100, 30).contains("2/2 up"));
}

fn any_key() -> impl Strategy<Value = Key> {
    prop_oneof![
        any::<char>().prop_map(Key::Char),
        prop::sample::select("q?/sSnNwxRjkgG1234567 pF".chars().collect::<Vec<_>>()).prop_map(Key::Char),
        prop::sample::select(vec![
            Key::Enter,
            Key::Esc,
            Key::Tab,
            Key::BackTab,
            Key::Up,
            Key::Down,
            Key::Home,
            Key::End,
            Key::PageUp,
            Key::PageDown,
            Key::Backspace,
            Key::F1,
            Key::Ctrl('u'),
            Key::Ctrl('w'),
            Key::Ctrl('d'),
            Key::Ctrl('l'),
        ]),
    ]
}

fn any_feed() -> impl Strategy<Value = Feed> {
    let snapshot = (any::<u64>(), 0..4_usize, any::<u32>(), ".{0,12}").prop_map(|(mono_us, caches, figure, key)| {
        let figure = u64::from(figure);
        let cache = |n: usize| {
            let mut cache = script::cache();
            cache.name = format!("c{n}");
            cache.outcomes[Outcome::Hit] = figure;
            cache.live = vec![script::flight(figure, &key, mono_us, figure, figure)];
            cache.hot = vec![script::hot(&key, figure, 0.5)];
            let fact = Fact::StaleBoundNear { key: key.clone(), ratio: f64::NAN, left_us: figure };
            cache.conditions = vec![script::condition(Severity::Critical, &key, fact)];
            cache
        };
        Feed::Snapshot(Box::new(herdfeed::Snapshot {
            mono_us,
            caches: (0..caches).map(cache).collect(),
            gates: vec![script::gate()],
            ..herdfeed::Snapshot::default()
        }))
    });
    prop_oneof![
        4 => snapshot,
        1 => "[a-c]".prop_map(|boot| Feed::Hello(Box::new(script::hello("api", 1, &boot)))),
        1 => Just(Feed::Gone(Farewell::Unsaid)),
        1 => Just(Feed::Connecting),
        1 => any::<u64>().prop_map(|missed| Feed::Lag { missed }),
        1 => any::<u64>().prop_map(|retry_at_us| Feed::Down { why: "x".into(), retry_at_us }),
        1 => Just(Feed::Added { address: "a".into(), name: "a".into() }),
    ]
}

fn any_msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        3 => any_key().prop_map(Msg::Key),
        3 => (0..3_u32, any_feed()).prop_map(|(id, feed)| Msg::Feed { target: TargetId(id), feed }),
        2 => (0..100_000_000_u64).prop_map(|us| Msg::Tick(script::START.plus_us(us))),
        1 => any::<u64>().prop_map(|us| Msg::Tick(Now { mono_us: us, unix_us: us })),
        1 => ".{0,9}".prop_map(Msg::Paste),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_sequence_of_messages_panics_or_loses_the_selection(
        msgs in prop::collection::vec(any_msg(), 0..40), width in 0..170_u16, height in 0..50_u16,
    ) {
        let mut model = Model::default();
        for msg in msgs {
            update(&mut model, msg);
            herdtop::update::settle(&mut model);
            prop_assert!(model.finding == 0 || model.finding < model.findings.len());
        }
        herdtop::picture::render(&model, width, height);
    }
}
