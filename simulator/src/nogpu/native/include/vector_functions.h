// The vocabulary is already there: this header exists so that including it does no harm.
#pragma once
