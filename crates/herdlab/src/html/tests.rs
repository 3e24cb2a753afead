use super::*;
use crate::play::play;
use crate::scenario::Scenario;

/// P2: names come from files, and are never markup.
#[test]
fn p2_the_page_is_whole_and_escapes_what_it_was_given() {
    let text = "name = \"<script>alert(1)</script>\"\nabout = \"x\"\npolicies = [\"none\"]\n[traffic]\nper_second = 100\n\
                length = \"3s\"\n[keys]\ncount = 1\n[cache]\nfresh_for = \"500ms\"\n[origin]\nlatency = \"50ms\"\n";
    let scenario = Scenario::parse("mine", text).unwrap();
    let run = play(&scenario, &"none".parse().unwrap(), 1).unwrap();
    let page = page(&Document::new(vec![run]));
    assert!(!page.contains("<script") && page.contains("&lt;script&gt;"), "{page}");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    // Origin calls were made, so there is a line for them, and nobody got nothing.
    assert!(page.contains("Origin calls that began") && !page.contains("Requests that got nothing"));
    // Latencies are bars; nothing was stale, so that there are none for ages.
    assert!(page.contains("Latency of requests") && !page.contains("answered as stale"));
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn a_peak_of_one_second_is_never_thinned_away() {
    let mut points = vec![0.0; 5_000];
    points[3_333] = 77.0;
    let drawn = plot(&[Line { name: "one".into(), points }]);
    assert!(drawn.contains(">77<"), "the peak labels its axis");
    let top = drawn.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(top.split(' ').any(|point| point.ends_with(",12.0")), "and its line reaches it");
}

#[test]
fn bars_are_as_long_as_what_they_tell() {
    let group = |name: &str, value| Group { name: name.into(), bars: vec![("p50", Some(value)), ("max", None)] };
    let drawn = bars(&[group("one", 100.0), group("<b>", 25.0)]);
    let widths: Vec<_> = drawn.split("width=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    // Square roots: a quarter is half as long; what was not measured has no length.
    assert_eq!(widths, ["630.0", "0.0", "315.0", "0.0"]);
    assert!(drawn.contains(">100.0 ms<") && drawn.contains(">–<") && drawn.contains("&lt;b&gt;"), "{drawn}");
}

/// Each bar tells the quantile that it is named after.
#[test]
fn bars_tell_the_quantile_of_their_name() {
    let text = "about = \"x\"\npolicies = [\"none\"]\n[traffic]\nper_second = 10\nlength = \"100ms\"\n[keys]\ncount = 1\n\
                [cache]\nfresh_for = \"1s\"\n[origin]\nlatency = \"5ms\"\n";
    let scenario = Scenario::parse("mine", text).unwrap();
    let mut run = play(&scenario, &"none".parse().unwrap(), 1).unwrap();
    run.figures.latency_ms = Some(Quantiles { p50: 1.5, p95: 2.5, p99: 3.5, max: 4.5, count: 9 });
    (run.figures.stale.age_ms_p99, run.figures.stale.age_ms_max) = (Some(5.5), Some(6.5));
    let page = page(&Document::new(vec![run]));
    let told: Vec<_> = page
        .split("fill=\"#526070\">")
        .skip(1)
        .filter_map(|rest| rest.split('<').next())
        .filter(|text| text.ends_with(" ms") || ["p50", "p95", "p99", "max"].contains(text))
        .collect();
    assert_eq!(
        told,
        ["p50", "1.5 ms", "p95", "2.5 ms", "p99", "3.5 ms", "max", "4.5 ms", "p99", "5.5 ms", "max", "6.5 ms"]
    );
}
