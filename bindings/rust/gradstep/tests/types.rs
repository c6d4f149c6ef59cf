// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//! What the types promise by themselves. Nothing here calls the library.

use gradstep::{
    Accumulator, Communicator, Context, Device, Dtype, Element, Error, Optimizer, Parameter, Reducer, Schedule, Tensor,
    TensorMut, Updater,
};

#[test]
fn handles_and_tensors_go_to_other_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Context>();
    is_send_and_sync::<Communicator>();
    is_send_and_sync::<Accumulator>();
    is_send_and_sync::<Reducer>();
    is_send_and_sync::<Optimizer>();
    is_send_and_sync::<Updater>();
    is_send_and_sync::<Schedule>();
    is_send_and_sync::<Tensor<'static>>();
    is_send_and_sync::<TensorMut<'static>>();
    is_send_and_sync::<Error>();
}

fn comes_back<T: Element + PartialEq + std::fmt::Debug>(mut values: [T; 6], dtype: Dtype) {
    let copy = values;
    let tensor = Tensor::new(&copy, &[3, 2]).unwrap();
    assert_eq!((tensor.shape(), tensor.dtype(), tensor.device()), (&[3, 2][..], Some(dtype), Some(Device::Cpu)));
    assert_eq!((tensor.len(), tensor.is_empty(), tensor.is_absent()), (6, false, false));
    assert_eq!(tensor.as_slice::<T>(), Some(&copy[..]));
    assert_eq!(dtype.size(), size_of::<T>());

    let mut tensor = TensorMut::new(&mut values, &[6]).unwrap();
    tensor.as_mut_slice::<T>().unwrap().reverse();
    assert_eq!(tensor.as_slice::<T>().map(|values| values[0]), Some(copy[5]));
    assert_eq!(tensor.as_tensor().len(), 6);
    assert_eq!(Tensor::from(tensor).as_slice::<T>().map(|values| values[5]), Some(copy[0]));
}

#[test]
fn elements_come_back_as_what_they_were() {
    comes_back([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], Dtype::F32);
    comes_back([1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0], Dtype::F64);
    comes_back([1i32, 2, 3, 4, 5, 6], Dtype::I32);
    comes_back([1i64, 2, 3, 4, 5, 6], Dtype::I64);
    comes_back([1u8, 2, 3, 4, 5, 6], Dtype::U8);
    #[cfg(feature = "half")]
    comes_back([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(half::f16::from_f32), Dtype::F16);
    #[cfg(feature = "half")]
    comes_back([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(half::bf16::from_f32), Dtype::BF16);
}

#[test]
fn elements_of_another_type_are_not_shown() {
    let tensor = Tensor::new(&[1.0f32, 2.0], &[2]).unwrap();
    assert_eq!(tensor.as_slice::<i32>(), None);
    assert_eq!(tensor.as_slice::<f64>(), None);
    assert_eq!(Tensor::ABSENT.as_slice::<f32>(), None);
}

#[test]
fn shapes_of_no_and_of_one_element_are_shapes() {
    assert_eq!(Tensor::new(&[7.0f64], &[]).unwrap().as_slice::<f64>(), Some(&[7.0][..]));
    let none = Tensor::new::<f32>(&[], &[0, 3]).unwrap();
    assert!(none.is_empty() && none.as_slice::<f32>() == Some(&[]));
    assert!(Tensor::ABSENT.is_empty() && Tensor::ABSENT.dtype().is_none() && Tensor::ABSENT.device().is_none());
    assert!(TensorMut::ABSENT.as_tensor().is_absent());
}

#[test]
fn strides_are_seen_by_the_library_and_not_as_a_slice() {
    let mut values = [1.0f32, 2.0, 3.0, 4.0];
    // SAFETY: two elements of the array, borrowed as long as the tensor, which is f32 in the host's memory.
    let every_other =
        unsafe { TensorMut::from_raw_parts(values.as_mut_ptr().cast(), Dtype::F32, Device::Cpu, &[2], Some(&[2])) };
    assert_eq!((every_other.as_slice::<f32>(), every_other.as_tensor().len()), (None, 2));
}

#[test]
fn an_error_prints_its_name_and_words() {
    let error = Error::PeerLost("rank 3 is gone".to_owned());
    assert_eq!((error.to_string().as_str(), error.name()), ("PEER_LOST: rank 3 is gone", "PEER_LOST"));
    assert_eq!((error.status(), error.text()), (-9, "rank 3 is gone"));
    let boxed: Box<dyn std::error::Error + Send + Sync> = error.clone().into();
    assert_eq!(boxed.downcast_ref::<Error>(), Some(&error));
    assert!(matches!(Error::from(std::io::Error::other("no disk")), Error::Io(text) if text == "no disk"));
}

#[test]
fn a_parameter_is_described_in_any_order() {
    let one = Parameter::new(&[2, 3]).name("w").dtype(Dtype::BF16).group(2).may_be_unused(true);
    assert_eq!(one, Parameter::new(&[2, 3]).may_be_unused(true).group(2).dtype(Dtype::BF16).name("w"));
    assert_ne!(one, Parameter::new(&[3, 2]).name("w").dtype(Dtype::BF16).group(2).may_be_unused(true));
}
