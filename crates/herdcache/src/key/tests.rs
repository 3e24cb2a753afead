//! How keys are shown: injectively, hashed by default, cut, and never with their secret parts.

use super::*;

/// K1: parts that a joining separator would confuse stay apart.
#[test]
fn k1_key_text_is_injective() {
    let keys =
        [("a", "b\",\"c"), ("a\",\"b", "c"), ("a,b", "c"), ("a", "b,c"), ("", "a,b,c"), ("a\0", "b"), ("a", "\0b")];
    let text = |cache: &str, key: &(&str, &str)| serde_json::to_string(&whole(cache, key)).unwrap();
    let texts: std::collections::HashSet<String> = keys.iter().map(|key| text("cache", key)).collect();
    assert_eq!(texts.len(), keys.len());
    assert_ne!(text("a", &("b", "")), text("ab", &("", "")));
    let hash = |cache: &str, key: &str| KeyNames::<String>::new(cache, KeyView::Hash).show(&key.to_owned());
    assert_ne!(hash("a", "b"), hash("ab", ""));
}

/// K1, L8: in a shared tier, no two keys, caches or schema versions have one text.
#[test]
fn k1_shared_texts_are_injective() {
    type Odd = std::collections::BTreeMap<(u8, u8), u8>;
    let text = |cache: &str, version, key: &(&str, &str)| {
        shared_text(cache, version, &(key.0.to_owned(), key.1.to_owned())).unwrap().0
    };
    let keys = [("a", "b\",\"c"), ("a\",\"b", "c"), ("a,b", "c"), ("", "a,b,c"), ("a\0", "b"), ("a", "\0b")];
    let mut texts: Vec<String> = keys.iter().map(|key| text("cache", 1, key)).collect();
    texts.extend([text("cache", 2, &keys[0]), text("c", 1, &keys[0]), text("cache\",1", 1, &keys[0])]);
    let different: std::collections::HashSet<&String> = texts.iter().collect();
    assert_eq!(different.len(), texts.len(), "{texts:?}");
    assert_eq!(texts[2], r#"["cache",1,["a,b","c"]]"#);
    assert_eq!(shared_text("odd", 1, &Odd::from([((1, 1), 1)])), None);
}

/// K2: the default view shows nothing of the key and differs by cache.
#[test]
fn k2_keys_are_hashed_unless_opted_in() {
    let users = KeyNames::<String>::new("users", KeyView::Hash);
    let orders = KeyNames::<String>::new("orders", KeyView::Hash);
    let key = "alice@example.org".to_owned();
    let shown = users.show(&key);
    assert_eq!(shown.len(), 16);
    assert!(!shown.contains("alice"));
    assert_eq!(shown, KeyNames::new("users", KeyView::Hash).show(&key));
    assert_ne!(shown, orders.show(&key));
    assert_eq!(KeyNames::new("users", KeyView::Plain).show(&key), key);
    assert_eq!(KeyNames::new("users", KeyView::With(|key: &String| key.len().to_string())).show(&key), "17");
}

/// K1: a key that JSON cannot hold is still shown, and apart from others.
#[test]
fn k1_unwritable_keys_are_told_apart() {
    type Odd = std::collections::BTreeMap<(u8, u8), u8>;
    let names = KeyNames::<Odd>::new("odd", KeyView::Plain);
    let (one, two) = (Odd::from([((1, 1), 1)]), Odd::from([((1, 1), 2)]));
    assert!(names.show(&one).starts_with("unwritable:"));
    assert_ne!(names.show(&one), names.show(&two));
}

/// L7: a long key is cut between characters.
#[test]
fn l7_long_keys_are_cut() {
    let names = KeyNames::<String>::new("c", KeyView::Plain);
    for text in ["é", "\u{1}", "a", "\"", "\\", "🦀"] {
        let shown = names.show(&text.repeat(10_000));
        assert_eq!(shown, text.repeat(SHOWN) + "…");
    }
    let names = KeyNames::<Vec<String>>::new("c", KeyView::Plain);
    let shown = names.show(&vec!["é".to_owned(); 10_000]);
    assert_eq!(shown.chars().count(), SHOWN + 1);
    assert!(shown.starts_with("[\"é\",\"é\""), "{shown}");
}

/// L7: no more of a key is written than can be shown.
#[test]
fn l7_a_huge_key_is_not_written_whole() {
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Huge;
    static WRITTEN: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    impl serde::Serialize for Huge {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let pieces = (0..1_000_000).inspect(|_| _ = WRITTEN.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            serializer.collect_seq(pieces)
        }
    }
    assert!(KeyNames::<Huge>::new("c", KeyView::Plain).show(&Huge).starts_with("[0,1,2,"));
    let written = WRITTEN.load(std::sync::atomic::Ordering::Relaxed);
    assert!(written < 1_000, "{written}");
}

#[derive(Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
struct Session {
    tenant: u32,
    token: Secret<String>,
    nested: Vec<Secret<(Secret<u64>, bool)>>,
}

fn session(token: &str, nested: u64) -> Session {
    Session { tenant: 7, token: Secret::new(token.to_owned()), nested: vec![Secret::new((nested.into(), true))] }
}

/// K2: parts marked secret are their keyed hash under the plain view, and nothing of them is in the text.
#[test]
fn k2_secret_parts_stay_hashed_under_the_plain_view() {
    let names = KeyNames::<Session>::new("sessions", KeyView::Plain);
    let shown = names.show(&session("hunter2", 424_242));
    let parts: Vec<&str> = shown.split('"').collect();
    let [_, "tenant", ":7,", "token", ":", token, ",", "nested", ":[", nested, "]}"] = parts[..] else {
        panic!("{shown}");
    };
    for part in [token, nested] {
        let digits = part.strip_prefix('#').unwrap();
        assert!(digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()), "{shown}");
    }
    assert!(!shown.contains("hunter2") && !shown.contains("424242"), "{shown}");
    // The same part is the same, another is another, and it cannot be followed into another cache.
    assert_eq!(shown, names.show(&session("hunter2", 424_242)));
    assert!(!names.show(&session("hunter3", 424_242)).contains(token));
    assert!(!names.show(&session("hunter2", 424_243)).contains(nested));
    assert!(!KeyNames::new("orders", KeyView::Plain).show(&session("hunter2", 424_242)).contains(token));
    // Keyed: without the secret of the process nobody makes these digits.
    let mut other = KeyNames::<Session>::new("sessions", KeyView::Plain);
    other.secret[0] ^= 1;
    assert!(!other.show(&session("hunter2", 424_242)).contains(token));
}

/// K1, L8: to the cache a secret part is what it holds: the key's own text has it, and can be read back.
#[test]
fn k1_a_secret_part_is_itself_wherever_keys_are_not_shown() {
    let key = session("hunter2", 1);
    let text = serde_json::to_string(&key).unwrap();
    assert_eq!(text, r#"{"tenant":7,"token":"hunter2","nested":[[1,true]]}"#);
    assert!(serde_json::from_str::<Session>(&text).unwrap() == key);
    // The hash of the whole key is that of its true text: the wrapper changes none.
    let (marked, bare) = (KeyNames::new("c", KeyView::Hash), KeyNames::new("c", KeyView::Hash));
    assert_eq!(marked.show(&Secret::new("a".to_owned())), bare.show(&"a".to_owned()));
}

/// P3: neither `Debug` nor a view that panics tells anything, and the veil is lifted all the same.
#[test]
fn p3_a_secret_part_is_not_told_by_debug_and_a_panic_leaves_no_veil() {
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Bad;
    impl serde::Serialize for Bad {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            panic!("a key's own mistake")
        }
    }
    assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(…)");
    assert_eq!(KeyNames::new("c", KeyView::Plain).show(&Secret::new(Bad)), "(its view panicked)");
    assert_eq!(serde_json::to_string(&Secret::new("seen")).unwrap(), r#""seen""#);
    // A part that JSON cannot hold makes the whole key unwritable, and that hash is keyed as well.
    let odd = Secret::new(std::collections::BTreeMap::from([((1_u8, 1_u8), 1_u8)]));
    let mut names = KeyNames::new("c", KeyView::Plain);
    let shown = names.show(&odd);
    assert!(shown.starts_with("unwritable:"), "{shown}");
    names.secret[0] ^= 1;
    assert_ne!(names.show(&odd), shown);
}
