// Asio's non-template parts, compiled once: BOOST_ASIO_SEPARATE_COMPILATION is set for this room.
#include <boost/asio/impl/src.hpp>
