//! T3: bytes from anywhere.

use super::*;

fn sample<'a>(payload: Payload<'a>, validator: Option<&'a str>, tags: &[&'a str]) -> Envelope<'a> {
    Envelope {
        key: 0x0123_4567_89ab_cdef,
        codec: 7,
        payload,
        word: 1,
        keep_for: 60_000_000_000,
        age: 5,
        soft: 30,
        hard: 40,
        last: u64::MAX,
        load_ns: 9,
        version: Some(3),
        fence: 12,
        validator,
        tags: tags.to_vec(),
    }
}

fn samples() -> Vec<Envelope<'static>> {
    vec![
        sample(Payload::Value(b"{\"a\":1}"), Some("etag"), &["x", "", "é"]),
        sample(Payload::Value(b""), None, &[]),
        Envelope { version: None, fence: 0, ..sample(Payload::Absent, Some(""), &["x"]) },
    ]
}

/// T3: what was written is read.
#[test]
fn t3_an_envelope_survives_the_tier() {
    for envelope in samples() {
        let bytes = envelope.encode().unwrap();
        assert_eq!(Envelope::decode(&bytes), Ok(envelope));
    }
}

/// T3: any flipped bit, any cut and anything behind it make the bytes foreign.
#[test]
fn t3_a_damaged_envelope_is_foreign() {
    for envelope in samples() {
        let bytes = envelope.encode().unwrap();
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert_eq!(Envelope::decode(&damaged), Err(Foreign), "bit {at}");
        }
        (0..bytes.len()).for_each(|length| assert_eq!(Envelope::decode(&bytes[..length]), Err(Foreign)));
        assert_eq!(Envelope::decode(&[&bytes[..], b"\0"].concat()), Err(Foreign));
    }
}

/// The checksum set right again, so that what lies behind it is reached.
fn sealed(mut body: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&body);
    body.extend(sum.to_le_bytes());
    body
}

/// T3: bytes with a right checksum and any lengths inside never panic, and give no more than they hold.
#[test]
fn t3_hostile_lengths_take_no_more_than_was_given() {
    let (mut read, mut foreign) = (0, 0);
    fastrand::seed(7);
    for round in 0..20_000 {
        let mut body = samples()[round % 3].encode().unwrap();
        body.truncate(body.len() - SUM);
        for _ in 0..fastrand::usize(1..4) {
            // Lengths lie at the end of the head; elsewhere too.
            let at = if fastrand::bool() { fastrand::usize(88..HEAD) } else { fastrand::usize(4..body.len()) };
            body[at] = fastrand::u8(..);
        }
        if fastrand::bool() {
            body.truncate(fastrand::usize(body.len() / 2..=body.len()));
        }
        let bytes = sealed(body);
        match Envelope::decode(&bytes) {
            Ok(envelope) => {
                let Payload::Value(payload) = envelope.payload else { continue };
                let parts = payload.len() + envelope.tags.iter().map(|tag| tag.len() + 2).sum::<usize>();
                assert!(parts + HEAD + SUM <= bytes.len());
                read += 1;
            }
            Err(Foreign) => foreign += 1,
        }
    }
    assert!(read > 100 && foreign > 1_000, "{read} {foreign}: both ends are to be seen");
    // A million tags in a hundred bytes.
    let mut body = samples()[1].encode().unwrap();
    body.truncate(body.len() - SUM);
    body[88..90].copy_from_slice(&u16::MAX.to_le_bytes());
    assert_eq!(Envelope::decode(&sealed(body)), Err(Foreign));
}

/// T3: random bytes, short and long, are foreign.
#[test]
fn t3_random_bytes_are_foreign() {
    fastrand::seed(8);
    for round in 0..5_000 {
        let mut bytes: Vec<u8> = (0..fastrand::usize(0..400)).map(|_| fastrand::u8(..)).collect();
        if round % 2 == 0 && bytes.len() >= 5 {
            bytes[..5].copy_from_slice(b"hrdc\x01");
        }
        assert_eq!(Envelope::decode(&bytes), Err(Foreign));
    }
}

/// T3: a later version of the layout is foreign, though its checksum is right.
#[test]
fn t3_a_later_version_is_foreign() {
    let mut body = samples()[0].encode().unwrap();
    body.truncate(body.len() - SUM);
    body[4] = VERSION + 1;
    assert_eq!(Envelope::decode(&sealed(body)), Err(Foreign));
}
