use super::*;
use crate::play::play;

const WORDS: &str = "# Title\n\nIt made {{impatient-callers singleflight origin_calls n}} call.\n\n\
@table singleflight, none\n@| impatient-callers origin_calls n calls\n@| impatient-callers latency_ms.max ms slowest\n\n\
@plot calls impatient-callers origin_calls singleflight | Calls & more\n\n@nodes 1 0.0\n";

fn runs(template: &Template) -> Vec<Run> {
    template.wanted().unwrap().iter().map(|one| play(&one.scenario, &one.policy, 1).unwrap()).collect()
}

#[test]
fn figures_tables_and_pictures_come_from_the_runs_that_are_named() {
    let template = Template::parse(WORDS).unwrap();
    let wanted: Vec<_> = template.wanted().unwrap().iter().map(|one| one.policy.to_string()).collect();
    assert_eq!(wanted, ["singleflight", "none"], "each once");
    let page = template.render(&runs(&template), "pictures").unwrap();
    let text = page.text.split_once("-->\n\n").unwrap().1;
    assert!(
        text.starts_with("# Title\n\nIt made 1 call.\n\n| policy | calls | slowest |\n|---|---:|---:|\n"),
        "{text}"
    );
    assert!(text.contains("\n| `singleflight` | 1 | 90 ms |\n| `none` |"), "{text}");
    assert!(text.contains("![Calls & more](pictures/calls.svg)\n"), "{text}");
    assert!(text.ends_with("| 24 | 4.2 % | 100 % | 1 + λL |\n"), "{text}");
    let (name, drawn) = &page.pictures[0];
    assert_eq!(name, "calls.svg");
    assert!(drawn.starts_with("<svg xmlns=") && drawn.contains("<title>Calls &amp; more</title>"), "{drawn}");
    assert!(drawn.ends_with("</svg>\n") && drawn.matches("<polyline").count() == 1, "{drawn}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let parse = |words: &str| Template::parse(words).unwrap_err().to_string();
    assert!(parse("a\n@teble none").contains("line 2"));
    assert!(parse("{{a b}}").contains("SCENARIO POLICY FIGURE UNIT"));
    assert!(parse("{{hot-key none requests apples}}").contains("apples"));
    let wanted = |words: &str| Template::parse(words).unwrap().wanted().unwrap_err().to_string();
    assert!(wanted("\n{{no-key none requests n}}").contains("line 2 of the page's words: no scenario \"no-key\""));
    assert!(wanted("{{hot-key nothing requests n}}").contains("no policy"));
    let template = Template::parse("{{impatient-callers none pears n}}").unwrap();
    let error = template.render(&runs(&template), "").unwrap_err().to_string();
    assert_eq!(error, "line 1 of the page's words: impatient-callers under none has no pears");
}

/// The page in the repository is of these words; that its figures are too, `herdlab compare --page … --check` finds out.
#[test]
fn the_page_of_the_lab_can_be_made() {
    let wanted = Template::countermeasures().unwrap().wanted().unwrap();
    assert!(wanted.len() >= 60, "{}", wanted.len());
    assert!(wanted.iter().all(|one| !one.scenario.long));
}
