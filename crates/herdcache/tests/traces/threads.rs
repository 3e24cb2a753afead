//! The same on real threads, which join a flight while another one makes its span.

use tracing::Dispatch;

use crate::book::Book;
use crate::support::{all, ask, assert_quiet, ms, rows};

const KEYS: u64 = 300;
const CALLERS: usize = 16;

/// Every caller's link leads to its key's flight, every span ends, and nothing is left current on any thread.
#[test]
fn every_link_leads_to_its_flight_on_real_threads() {
    let book = Book::default();
    let (dispatch, told) = (Dispatch::new(book.clone()), book.clone());
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(4).enable_time().on_thread_start(move || {
        // For as long as the thread lives.
        std::mem::forget(tracing::dispatcher::set_default(&dispatch));
    });
    let runtime = builder.build().unwrap();
    let cache = rows("threads", all()).build().unwrap();
    let flown = cache.clone();
    // In a task, since this thread has no subscriber.
    let flying = runtime.spawn(async move {
        for key in 0..KEYS {
            let load = |key: u64| {
                move |_| -> crate::support::Load {
                    Box::pin(async move {
                        tokio::task::yield_now().await;
                        Ok(key)
                    })
                }
            };
            let callers: Vec<_> = (0..CALLERS).map(|_| ask(&flown, key, load(key))).collect();
            for caller in callers {
                assert_eq!(*caller.await.unwrap().unwrap().unwrap(), key);
            }
        }
        flown.shutdown(ms(1_000)).await;
        // X1: what a shutdown waited for has been told too, so that an exporter may be shut down next.
        assert_eq!(told.left_open(), [""; 0]);
    });
    runtime.block_on(flying).unwrap();
    drop(runtime);
    let (flights, waits) = (book.flights(), book.waits());
    assert_eq!(flights.len() as u64, cache.traced().flights);
    let leads = |wait: &crate::book::Told| flights.iter().any(|flight| wait.follows == [flight.id]);
    let astray: Vec<_> = waits.iter().filter(|wait| !leads(wait)).collect();
    assert!(astray.is_empty(), "{} of {} lead nowhere: {:?}", astray.len(), waits.len(), astray[0]);
    // Who came so late that the value was there has not waited; who led has.
    assert!(waits.len() >= flights.len() && flights.len() as u64 >= KEYS, "{} waits", waits.len());
    assert_eq!(book.left_open(), [""; 0]);
    assert_quiet(&cache.snapshot());
}
