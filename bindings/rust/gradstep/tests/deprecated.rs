// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! Old names do what the new ones do.

#![allow(deprecated)]

use std::any::TypeId;

use gradstep::{
    AccumulationMode, AccumulationTrigger, Adam, Collectives, CommOptions, Communicator, Context, CostOptions, Error,
    FirstStep, HostCollectives, Mode, NonFinite, NonfinitePolicy, Optimizer, Parameter, Reducer, ReducerOptions,
    ScheduleFreeInner, SgdFirstStep, ShardingOptions, Trigger,
};

#[test]
fn an_old_type_is_the_new_one() {
    assert_eq!(TypeId::of::<Mode>(), TypeId::of::<AccumulationMode>());
    assert_eq!(TypeId::of::<Trigger>(), TypeId::of::<AccumulationTrigger>());
    assert_eq!(TypeId::of::<NonFinite>(), TypeId::of::<NonfinitePolicy>());
    assert_eq!(TypeId::of::<FirstStep>(), TypeId::of::<SgdFirstStep>());
    assert_eq!(TypeId::of::<dyn Collectives>(), TypeId::of::<dyn HostCollectives>());
    assert_eq!(ScheduleFreeInner::SGD, ScheduleFreeInner::Sgd);
}

#[test]
fn an_old_name_does_what_the_new_one_does() -> Result<(), Error> {
    let context = Context::new()?;
    let (comm, schema, sharding) = (Communicator::alone(&context)?, [Parameter::new(&[2])], ShardingOptions::default());
    let mut optimizer = Optimizer::new(&context, &Adam::new(0.25), &schema)?;
    assert_eq!(optimizer.value("learning_rate", 0), optimizer.get_value("learning_rate", 0));
    optimizer.attach_comm(Some(&comm), &sharding)?;
    assert!(matches!(optimizer.state(0, "exp_avg"), Err(Error::Unsupported(_))));
    optimizer.attach_comm(None, &sharding)?;
    assert!(optimizer.state(0, "exp_avg").is_ok());
    let mut reducer = Reducer::new(&context, &comm, &ReducerOptions::default(), &schema)?;
    assert_eq!(reducer.buckets()?, reducer.bucket_statistics()?);
    optimizer.attach_reducer(&mut reducer, &sharding)?;
    assert!(matches!(optimizer.state(0, "exp_avg"), Err(Error::Unsupported(_))));
    assert_eq!(comm.status(), Ok(()));
    comm.abort()?;
    assert_eq!(comm.status().err(), comm.error());
    let costs = CostOptions::default().elements(1000).ranks(4).bandwidth(1e9).latency(1e-5);
    assert_eq!(costs.measured(&context)?.predict()?.len(), costs.predict()?.len());
    // SAFETY: no file is opened, as there is none, and no communicator is wrapped.
    unsafe {
        assert!(matches!(gradstep::load_plugin("/no/such/plugin"), Err(Error::BackendUnavailable(_))));
        assert!(Communicator::from_mpi(&context, std::ptr::null(), CommOptions::default()).is_err());
    }
    Ok(())
}
