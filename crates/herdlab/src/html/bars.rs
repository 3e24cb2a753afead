//! Bars for the policies of a scenario: quantiles that a run has once, not each second.

use std::fmt::Write;

use super::escaped;

/// The bars of one policy; what was not measured has none.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) bars: Vec<(&'static str, Option<f64>)>,
}

const WIDTH: f64 = 960.0;
/// Room for names on the left, and for figures on the right.
const ROOM: [f64; 2] = [220.0, 110.0];
const BAR: f64 = 13.0;
/// From the lightest to the darkest: the further out a quantile lies.
const COLOURS: [&str; 4] = ["#a8c8e0", "#66a3cc", "#0072b2", "#004a75"];

/// Groups of bars below each other, in milliseconds. Lengths are square roots, as everywhere on the page.
pub(super) fn bars(groups: &[Group]) -> String {
    let all = groups.iter().flat_map(|group| &group.bars);
    let top = all.clone().filter_map(|(_, value)| *value).fold(1.0, f64::max);
    let height = BAR * all.count() as f64 + 8.0 * groups.len() as f64;
    let [left, right] = ROOM;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" font-size=\"11\">");
    let mut at = 0.0;
    for group in groups {
        for (nth, (label, value)) in group.bars.iter().enumerate() {
            let long = (WIDTH - left - right) * (value.unwrap_or_default() / top).sqrt();
            let name = if nth == 0 { escaped(&group.name) } else { String::new() };
            let told = value.map_or_else(|| "–".into(), |value| format!("{value:.1} ms"));
            // Writing to a string cannot fail.
            let _ = write!(
                svg,
                "<text x=\"0\" y=\"{y:.1}\" fill=\"#1d2733\">{name}</text>\
                 <text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"#526070\">{label}</text>\
                 <rect x=\"{left}\" y=\"{:.1}\" width=\"{long:.1}\" height=\"{:.1}\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{y:.1}\" fill=\"#526070\">{told}</text>",
                left - 6.0,
                at + 1.0,
                BAR - 2.0,
                COLOURS[nth % COLOURS.len()],
                left + long + 6.0,
                y = at + BAR - 3.0,
            );
            at += BAR;
        }
        at += 8.0;
    }
    svg.push_str("</svg>");
    svg
}
