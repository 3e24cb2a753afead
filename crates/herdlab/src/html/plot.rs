//! Lines over seconds as an SVG picture.
//!
//! Square roots on the upright axis: a herd of thousands and the calm of ones are on
//! one picture, and 0 stays at the bottom, which a logarithm could not show.

use std::fmt::Write;

use super::escaped;

/// One line of a picture.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<f64>,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 240.0;
/// Room for labels: left, right, top, bottom.
const ROOM: [f64; 4] = [64.0, 150.0, 12.0, 28.0];
/// Colours that people who see fewer of them tell apart (Okabe and Ito, 2008).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a7a00"];
/// More points than this are drawn as the largest of their neighbours, so that no peak is lost.
const POINTS: usize = 600;

/// The same as a file of its own, on white: a page that shows it may be dark.
pub(crate) fn picture(title: &str, lines: &[Line]) -> String {
    let body = plot(lines);
    let rest = body.strip_prefix("<svg ").unwrap_or(&body);
    let (attributes, inner) = rest.split_once('>').unwrap_or((rest, ""));
    let inner = inner.replace("/><", "/>\n<").replace("</text><", "</text>\n<");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" {attributes}>\n<title>{}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{inner}\n",
        escaped(title)
    )
}

/// A picture of lines whose points are a second apart.
pub(super) fn plot(lines: &[Line]) -> String {
    let longest = lines.iter().map(|line| line.points.len()).max().unwrap_or_default().max(2);
    let top = lines.iter().flat_map(|line| &line.points).copied().fold(1.0, f64::max);
    let [left, right, above, below] = ROOM;
    let (wide, high) = (WIDTH - left - right, HEIGHT - above - below);
    let x = |second: f64| left + wide * second / (longest - 1) as f64;
    let y = |value: f64| above + high * (1.0 - (value / top).sqrt());
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-size=\"11\">");
    for part in [0.0, 0.1, 0.4, 1.0] {
        let (value, at) = (top * part, y(top * part));
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e6eaee\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#526070\">{value:.0}</text>",
            left + wide,
            left - 6.0,
            at + 4.0
        );
    }
    for second in [0, longest / 2, longest - 1] {
        let at = x(second as f64);
        let _ = write!(
            svg,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#526070\">{second} s</text>",
            HEIGHT - 8.0
        );
    }
    for (nth, line) in lines.iter().enumerate() {
        let colour = COLOURS[nth % COLOURS.len()];
        let points: Vec<_> =
            thinned(&line.points).map(|(at, value)| format!("{:.1},{:.1}", x(at as f64), y(value))).collect();
        let label = above + 12.0 + 15.0 * nth as f64;
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" points=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{label:.1}\" fill=\"{colour}\">{}</text>",
            points.join(" "),
            left + wide + 10.0,
            escaped(&line.name)
        );
    }
    svg.push_str("</svg>");
    svg
}

/// The points with their places, as many as can be told apart.
fn thinned(points: &[f64]) -> impl Iterator<Item = (usize, f64)> + '_ {
    let each = points.len().div_ceil(POINTS).max(1);
    points.chunks(each).enumerate().map(move |(nth, chunk)| (nth * each, chunk.iter().copied().fold(0.0, f64::max)))
}
