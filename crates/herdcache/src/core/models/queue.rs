//! The gate: a permit is never lost and never doubled.

use std::sync::Arc;

use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::{OF_THREE, OF_TWO, explore, spawn};
use crate::gate::{Admission, Gate, Permit, Place};

fn enter(gate: &Gate) -> Result<Permit, Place> {
    match gate.enter(None, crate::clock::exact()) {
        Admission::Granted(permit) => Ok(permit),
        Admission::Queued(place) => Err(place),
        Admission::Refused(reason) => panic!("refused: {reason:?}"),
    }
}

/// L3, L6: whoever leaves the queue as a permit comes gives it on.
#[test]
fn l3_l6_a_permit_meets_one_who_leaves() {
    explore(OF_TWO, || {
        let gate = Gate::builder(1).build().unwrap();
        let Ok(permit) = enter(&gate) else { panic!("no permit") };
        let Err(place) = enter(&gate) else { panic!("two permits of one") };
        let leaves = spawn(move || drop(place));
        drop(permit);
        leaves.join().unwrap();
        assert!(enter(&gate).is_ok(), "L6: a permit was lost");
    });
}

/// L3: never more at once than there are permits.
#[test]
fn l3_permits_are_never_doubled() {
    explore(OF_THREE, || {
        let gate = Gate::builder(1).build().unwrap();
        let inside = Arc::new(AtomicUsize::new(0));
        let others = [(); 2].map(|()| {
            let (gate, inside) = (gate.clone(), Arc::clone(&inside));
            spawn(move || {
                if let Ok(permit) = enter(&gate) {
                    assert_eq!(inside.fetch_add(1, SeqCst), 0, "L3: two loads under one permit");
                    inside.fetch_sub(1, SeqCst);
                    drop(permit);
                }
            })
        });
        others.into_iter().for_each(|other| other.join().unwrap());
        assert!(enter(&gate).is_ok(), "L6: a permit was lost");
    });
}
