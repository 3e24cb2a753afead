//! The look as one JSON document.

use herdfeed::{Hello, Snapshot};
use serde::Serialize;

use super::Look;
use crate::verdict::Finding;

/// Version of the document; a later one only adds.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    unix_us: u64,
    targets: Vec<One<'a>>,
    verdict: &'a [Finding],
}

#[derive(Serialize)]
struct One<'a> {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hello: Option<&'a Hello>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<&'a Snapshot>,
}

pub(super) fn document(look: &Look) -> Result<String, serde_json::Error> {
    let targets = look
        .targets
        .iter()
        .map(|(address, answer)| One {
            address: address.to_string(),
            error: answer.as_ref().err().map(String::as_str),
            hello: answer.as_ref().ok().map(|said| &said.0),
            snapshot: answer.as_ref().ok().map(|said| &said.1),
        })
        .collect();
    let document = Document { version: VERSION, unix_us: look.at.unix_us, targets, verdict: &look.findings };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
